"""`anynet-study report`: the page of a study."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    store: Annotated[str, typer.Argument(help="Study (folder or name), or a results.h5.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder; default: report/ beside the results."),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples of architectures.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
) -> None:
    """Write report.html, one page that needs nothing beside it, with its figures and tables.

    Example: anynet-study report quickstart
    """
    from anynet_study.report import write_report
    from anynet_study.store import find_store

    found = find_store(store)
    folder = output if output is not None else found.path.parent / "report"
    print(write_report(found, folder, resamples, seed))
