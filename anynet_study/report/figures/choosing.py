"""Choosing by a proxy: what it costs, and what proxies cost."""

import pandas as pd

from anynet_study import plots
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import roles_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import MOST_PANELS, FigureKind, check_room, drawable


def _of_targets(analysis: Analysis, name: str, column: str) -> pd.DataFrame:
    """The table of an analysis that has a panel for each target."""
    check_room(len(roles_in(analysis.tables).targets), MOST_PANELS, "targets")
    return drawable(analysis, name, column)


def _widths(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """By target, of those that have a width."""
    known = drawable(analysis, "widths", "width").dropna(subset="width")
    check_room(known["target"].nunique(), MOST_PANELS, "targets")
    if known["n"].nunique() < 2:
        raise UserError(f"{known['n'].max()} architectures have no smaller parts to compare")
    return {
        f"{rows['source'].iloc[0]} and {target}": rows
        for target, rows in known.groupby("target", sort=False)
    }


KINDS: dict[str, FigureKind] = {
    "regret": FigureKind(
        "The error on each target of the best of the k architectures that are best on a proxy, in "
        "points above the best of all. Bars: ranges over random halves of the architectures; "
        "dashed: k architectures at random.",
        lambda a: plots.regret_grid(_of_targets(a, "regret", "regret"), roles_in(a.tables).family),
        lambda a: a["regret"],
        needs=("regret",),
    ),
    "widths": FigureKind(
        "Width of the 95% interval of each target's correlation with the source in studies of "
        "fewer architectures, random parts of this one.",
        lambda a: plots.width_grid(_widths(a)),
        lambda a: a["widths"],
        needs=("widths",),
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
