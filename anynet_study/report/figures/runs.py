"""Single runs: training noise and learning curves."""

import pandas as pd

from anynet_study import plots
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import replicates_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import MOST_PANELS, FigureKind, check_room, drawable


def _curves(analysis: Analysis) -> pd.DataFrame:
    curves = analysis.tables.curves
    if curves is None or curves["error"].notna().sum() == 0:
        raise UserError("no curves are stored")
    check_room(curves["dataset"].nunique(), MOST_PANELS)
    return curves


KINDS: dict[str, FigureKind] = {
    "noise": FigureKind(
        "How much of the spread is training noise. Each orange row is one architecture trained "
        "several times; above, the distribution of the mean errors of all architectures, a tick "
        "each. sd: standard deviations in points; ICC: share of the architectures in the variance "
        "of a single run, with its 95% interval.",
        lambda a: plots.noise_grid(replicates_in(a.tables), drawable(a, "noise"), a.tables.metrics),
        lambda a: replicates_in(a.tables),
        needs="noise",
    ),
    "curves": FigureKind(
        "Test error after every epoch: median over the architectures, the band that holds 80% of "
        "them, and up to 30 single runs, evenly spread from best to worst.",
        lambda a: plots.curve_grid(_curves(a), a.tables.metrics),
        lambda a: plots.curve_data(_curves(a)),
    ),
}
