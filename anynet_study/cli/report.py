"""`anynet-study report`: the page of a study."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from anynet_study.analysis.analyses.arguments import Source, StudyOptions, with_study_options
from anynet_study.cli.options import AsIs, current, opt, writes
from anynet_study.core.errors import UserError


@with_study_options
def report(
    store: Source,
    output: Annotated[
        Path | None,
        writes("Folder; default: report/ beside the results, or NAME-report/ of a table."),
    ] = None,
    figures: Annotated[
        str, opt("Figures for papers, also folded into the page: names as in plot, or all.")
    ] = "",
    beside: Annotated[
        list[str] | None,
        opt("Another study to set beside this one, dataset by dataset.", metavar="STUDY"),
    ] = None,
    as_is: AsIs = False,
    *,
    options: StudyOptions,
) -> None:
    """Write the report of a study or a table of errors, as one page.

    The page can be explored, and needs no other file and no network. Its figures are drawn in the
    browser: point at an architecture to see what it is, drag to mark some everywhere. Recipes of
    the study, and other studies, are set side by side. The command plot draws figures as files.

    \b
    Examples:
      anynet-study report quickstart
      anynet-study report quickstart --figures heatmap,depth
      anynet-study report cifar --beside imagenet
      anynet-study report leaderboard.csv --accuracy --source imagenet
    """
    from anynet_study.analysis.analyses import chosen_names, known_analyses
    from anynet_study.analysis.report import write_report

    known = [
        figure
        for analysis in known_analyses(options.analysis or ()).values()
        for figure in analysis.figures
    ]
    names = chosen_names("--figures", figures, known) if figures else []
    if options.where and output is None:
        raise UserError("--where: say with -o where the report of a part of the study goes")
    current([store, *(beside or [])], as_is)
    study = options.load(store)
    # Roles that are named are those of the first study's datasets.
    plain = replace(options, source_name="", family=None, targets=None, shifts=None, images=None)
    others = [plain.load(Path(name)) for name in beside or []]
    folder = output if output is not None else study.report_folder
    print(write_report(study, folder, names, others))
