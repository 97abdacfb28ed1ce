"""The command `serve`: a page on this machine that watches a study."""

from functools import partial
from typing import Annotated

from anynet_study.cli.options import StudyName, opt

PORT = 8700


def serve(
    study_name: StudyName,
    port: Annotated[
        int, opt("Port on 127.0.0.1; 0: any that is free.", "--port", min=0, max=65535)
    ] = PORT,
) -> None:
    """Watch a study in a browser while it runs.

    The page shows progress, failures, curves and correlations, and is refreshed every few seconds.
    It is served on this machine only, http://127.0.0.1:8700/, and only reads the study's files.
    Ctrl-C stops the page, but no job.

    \b
    Examples:
      anynet-study serve quickstart
      anynet-study serve paper --port 9000
    """
    from anynet_study.cli.status import status_lines
    from anynet_study.cli.watching import watch_server
    from anynet_study.engine.dispatch import open_study

    lines = partial(status_lines, name=study_name)
    with watch_server(open_study(study_name), port, lines) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
