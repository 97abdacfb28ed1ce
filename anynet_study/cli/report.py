"""`anynet-study report`: the page of a study."""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study.cli.inputs import Resamples, Seed


def report(
    store: Annotated[
        str, typer.Argument(metavar="STUDY", help="Study (folder or name), or a results.h5.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder; default: report/ beside the results."),
    ] = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
) -> None:
    """Write report.html, the page of a study, and its figures.

    The page holds its figures and needs no other file; they are also written beside it, as are
    the tables.

    \b
    Example:
      anynet-study report quickstart
    """
    from anynet_study.report import write_report
    from anynet_study.store import find_store

    found = find_store(store)
    folder = output if output is not None else found.path.parent / "report"
    print(write_report(found, folder, resamples, seed))
