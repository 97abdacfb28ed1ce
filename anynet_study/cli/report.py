"""`anynet-study report`: the page of a study."""

from pathlib import Path
from typing import Annotated

from anynet_study.analyses.arguments import StudyOptions, with_study_options
from anynet_study.cli.options import StoreName, opt
from anynet_study.errors import UserError


@with_study_options
def report(
    store: StoreName,
    output: Annotated[
        Path | None, opt("Folder; default: report/ beside the results.", "-o", "--output")
    ] = None,
    *,
    options: StudyOptions,
) -> None:
    """Write report.html, the page of a study, and its figures.

    The page holds its figures and needs no other file; they are also written beside it, as are
    the tables.

    \b
    Example:
      anynet-study report quickstart
    """
    from anynet_study.report import write_report

    study = options.load(Path(store))
    if study.store is None:
        raise UserError(f"{store}: a report is of a study or its results.h5")
    folder = output if output is not None else study.store.path.parent / "report"
    print(write_report(study, folder))
