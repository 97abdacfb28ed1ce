"""From a results store to a report in a folder."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from anynet_study.files import write_text
from anynet_study.report.analyses import Options
from anynet_study.report.analysis import analyse
from anynet_study.report.drawing import draw_figures
from anynet_study.report.figures import FIGURES
from anynet_study.report.grids import TABLE_NAMES, csv_tables
from anynet_study.report.page import render
from anynet_study.report.reading import study_tables
from anynet_study.report.summary import summarise
from anynet_study.store import ResultStore

#: Of the forests of a page, which is to be there soon; `anynet-study analyze` has more.
TREES = 40


def write_report(
    store: ResultStore,
    folder: Path,
    resamples: int = 10_000,
    seed: int = 0,
    figures: Sequence[str] = tuple(FIGURES),
) -> Path:
    """Write `report.html`, `figures/*.png|svg|csv` and `tables/*.csv`; return the page's path.

    The page holds its figures and needs no other file. Every file is replaced as a whole, the
    page last. The same store gives the same files but for the page's time of making. What cannot
    be computed (too few architectures, no replicates, ...) is left out, and the page says why.
    `figures` are those to draw, by name.
    """
    with store:  # one state of it, though it is collected anew meanwhile
        tables, summary = study_tables(store), summarise(store)
        analysis = analyse(tables, Options(resamples=resamples, seed=seed, trees=TREES))
    drawn = draw_figures(analysis, folder / "figures", figures)
    written = csv_tables(analysis, summary)
    for name in TABLE_NAMES:
        path = folder / "tables" / f"{name}.csv"
        if name in written:
            write_text(path, written[name].to_csv(index=False, lineterminator="\n"))
        else:
            path.unlink(missing_ok=True)
    method = {
        "resamples": resamples,
        "seed": seed,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    page = folder / "report.html"
    write_text(page, render(analysis, summary, {each.name: each for each in drawn}, method))
    return page
