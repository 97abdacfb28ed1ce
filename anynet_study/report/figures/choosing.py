"""Choosing by a proxy: what it costs, and what proxies cost."""

import pandas as pd

from anynet_study import plots
from anynet_study.report.analyses.kind import roles_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import MOST_PANELS, FigureKind, check_room, drawable


def _of_targets(analysis: Analysis, name: str, column: str) -> pd.DataFrame:
    """The table of an analysis that has a panel for each target."""
    check_room(len(roles_in(analysis.tables).targets), MOST_PANELS, "targets")
    return drawable(analysis, name, column)


KINDS: dict[str, FigureKind] = {
    "regret": FigureKind(
        "The error on each target of the best of the k architectures that are best on a proxy, in "
        "points above the best of all. Bars: ranges over random halves of the architectures; "
        "dashed: k architectures at random.",
        lambda a: plots.regret_grid(_of_targets(a, "regret", "regret"), roles_in(a.tables).family),
        lambda a: a["regret"],
        needs=("regret",),
    ),
    "costs": FigureKind(
        "Rank correlation with each target against the mean seconds of a run on the proxy. Those "
        "on the line are better than all that are cheaper.",
        lambda a: plots.cost_grid(
            _of_targets(a, "costs", "estimate"), "seconds a run", roles_in(a.tables).family
        ),
        lambda a: a["costs"],
        needs=("costs",),
    ),
}
