"""From a results store to a report in a folder."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from anynet_study.analyses import FIGURES, TABLES
from anynet_study.errors import UserError
from anynet_study.files import write_text
from anynet_study.report.drawing import draw_figures
from anynet_study.report.grids import TABLE_NAMES, csv_tables
from anynet_study.report.page import render
from anynet_study.report.summary import summarise
from anynet_study.study import Study


def write_report(
    study: Study,
    folder: Path,
    figures: Sequence[str] = FIGURES,
) -> Path:
    """Write `report.html`, `figures/*.png|svg|csv` and `tables/*.csv`; return the page's path.

    The page holds its figures and needs no other file. Every file is replaced as a whole, the
    page last. The same study gives the same files but for the page's time of making. What cannot
    be computed (too few architectures, no replicates, ...) is left out, and the page says why.
    `figures` are those to draw, by name.
    """
    if study.store is None:
        raise UserError(f"{study.name}: a report is of a study or its results.h5")
    with study:  # one state of it, though it is collected anew meanwhile
        summary = summarise(study.store)
        study.make(TABLES)
        study.read_all()
    drawn = draw_figures(study, folder / "figures", figures)
    written = csv_tables(study, summary)
    for name in TABLE_NAMES:
        path = folder / "tables" / f"{name}.csv"
        if name in written:
            write_text(path, written[name].to_csv(index=False, lineterminator="\n"))
        else:
            path.unlink(missing_ok=True)
    method = {
        "resamples": study.options.resamples,
        "seed": study.options.seed,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    page = folder / "report.html"
    write_text(page, render(study, summary, {each.name: each for each in drawn}, method))
    return page
