"""Errors on one dataset against errors on another, and how well they agree."""

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from anynet_study import plots
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import roles_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import (
    MARKED,
    MOST_IN_HEATMAP,
    MOST_IN_MATRIX,
    MOST_PANELS,
    FigureKind,
    check_room,
    drawable,
)


def source_pairs(analysis: Analysis) -> list[tuple[str, str]]:
    """Source and each target (paper 1, Figure 3)."""
    roles = roles_in(analysis.tables)
    return [(roles.source, target) for target in roles.targets]


def matched_pairs(analysis: Analysis) -> list[tuple[str, str]]:
    """The family member closest in class count, and the target (paper 1, Figure 5)."""
    roles = roles_in(analysis.tables)
    pairs = [(roles.closest_member(classes), target) for target, classes in roles.targets.items()]
    if all(member == roles.source for member, _ in pairs):
        raise UserError(f"to every target {roles.source} itself is closest in class count")
    return pairs


def family_pairs(analysis: Analysis) -> list[tuple[str, str]]:
    """Source and each other member of its family (paper 1, Figure 4)."""
    roles = roles_in(analysis.tables)
    pairs = [(roles.source, member) for member in roles.family if member != roles.source]
    if not pairs:
        raise UserError(f"{roles.source} has no subsets of its classes in this study")
    return pairs


def _with_room(analysis: Analysis, most: int) -> Analysis:
    check_room(analysis.tables.errors.shape[1], most)
    return analysis


def _scatter(pairs: Callable[[Analysis], list[tuple[str, str]]], caption: str) -> FigureKind:
    def draw(a: Analysis) -> Figure:
        drawn = pairs(a)
        check_room(len(drawn), MOST_PANELS, "pairs of datasets")
        table = drawable(a, "correlations")
        return plots.scatter_grid(a.tables.errors, drawn, table, a.tables.metrics)

    return FigureKind(
        f"{caption} {MARKED.format(of='vertical axis')}",
        draw,
        lambda a: plots.scatter_data(a.tables.errors, pairs(a)),
        needs=("correlations",),
    )


def _draw_proxies(analysis: Analysis) -> Figure:
    roles = roles_in(analysis.tables)
    check_room(len(roles.targets), MOST_PANELS, "targets")
    return plots.proxy_chart(drawable(analysis, "proxies"), roles.family)


def _all_pairs(analysis: Analysis) -> pd.DataFrame:
    names = list(analysis.tables.errors.columns)
    pairs = [(x, y) for i, y in enumerate(names) for x in names[:i]]
    return plots.scatter_data(analysis.tables.errors, pairs)


KINDS: dict[str, FigureKind] = {
    "source": _scatter(
        source_pairs,
        "Test errors on each target against those of the same architectures on the source.",
    ),
    "matched": _scatter(
        matched_pairs,
        "Test errors on each target against those on the member of the source's family that is "
        "closest in class count.",
    ),
    "proxies": FigureKind(
        "Rank correlation of each target's errors with those on each member of the source's "
        "family. Bars: 95% bootstrap intervals, over the same architectures for all members.",
        _draw_proxies,
        lambda a: drawable(a, "proxies"),
        needs=("proxies",),
    ),
    "family": _scatter(
        family_pairs,
        "Test errors on each class subset of the source against those on the source itself.",
    ),
    "heatmap": FigureKind(
        "Rank correlation of the errors for every pair of datasets; below each, where there is "
        "room, its 95% bootstrap interval.",
        lambda a: plots.correlation_heatmap(
            drawable(_with_room(a, MOST_IN_HEATMAP), "correlations")
        ),
        lambda a: drawable(a, "correlations"),
        needs=("correlations",),
    ),
    "matrix": FigureKind(
        "All pairs of datasets. Below the diagonal: test errors in percent, a point an "
        "architecture, the best and worst ten on the row's dataset marked. On the diagonal: their "
        "distribution. Above it: Spearman's ρ with its 95% bootstrap interval.",
        lambda a: plots.scatter_matrix(
            _with_room(a, MOST_IN_MATRIX).tables.errors, drawable(a, "correlations")
        ),
        _all_pairs,
        needs=("correlations",),
    ),
}
