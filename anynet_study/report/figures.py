"""The figures of a study: which there are, what each needs, draws and says."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from anynet_study import apr, plots
from anynet_study.errors import UserError
from anynet_study.report.analysis import Analysis, population_in, replicates_in, roles_in

TOP = 15
#: Datasets, or panels, that a figure of a page has room for.
MOST_IN_MATRIX = 20
MOST_IN_HEATMAP = 60
MOST_PANELS = 48
MARKED = (
    "ρ: Spearman's, with its 95% bootstrap interval. Orange triangles: the ten lowest errors on "
    "the {of}; red crosses: the ten highest (a quarter of the architectures at most). Errors far "
    "above all others, as of diverged runs, are off the scale and drawn at the edge."
)


@dataclass(frozen=True)
class FigureKind:
    """One kind of figure: `draw` raises UserError with the reason where it does not apply."""

    caption: str
    draw: Callable[[Analysis], Figure]
    #: What is drawn, as a table.
    data: Callable[[Analysis], pd.DataFrame]
    #: The analysis that it draws on, if any.
    needs: str = ""


def figure_kind(name: str) -> FigureKind:
    """Look up a figure by name; UserError lists the legal ones."""
    if name not in FIGURES:
        raise UserError(f"figure {name!r} is unknown; one of {', '.join(FIGURES)}")
    return FIGURES[name]


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


def _table(analysis: Analysis, name: str) -> pd.DataFrame:
    table: pd.DataFrame | None = getattr(analysis, name)
    if table is None:
        raise UserError(analysis.left_out[name])
    if "estimate" in table and table["estimate"].isna().all():
        raise UserError("every correlation is undefined: too few, or constant, errors")
    return table


def _errors(analysis: Analysis) -> pd.DataFrame:
    """The errors of the datasets that have any; a panel each."""
    errors = analysis.tables.errors.dropna(axis="columns", how="all")
    if errors.empty:
        raise UserError("no run has an error")
    _check_room(errors.shape[1], MOST_PANELS)
    return errors


def _check_room(count: int, most: int, what: str = "datasets") -> None:
    if count > most:
        raise UserError(f"{count} {what} are more than the {most} that fit a figure")


def _with_room(analysis: Analysis, most: int) -> Analysis:
    _check_room(analysis.tables.errors.shape[1], most)
    return analysis


def _top(analysis: Analysis) -> int:
    """How many of the best to average over: those of a small population are no elite."""
    return min(TOP, max(1, len(analysis.tables.errors) // 4))


def _curves(analysis: Analysis) -> pd.DataFrame:
    curves = analysis.tables.curves
    if curves is None or curves["error"].notna().sum() == 0:
        raise UserError("no curves are stored")
    _check_room(curves["dataset"].nunique(), MOST_PANELS)
    return curves


def _scatter(pairs: Callable[[Analysis], list[tuple[str, str]]], caption: str) -> FigureKind:
    def draw(a: Analysis) -> Figure:
        drawn = pairs(a)
        _check_room(len(drawn), MOST_PANELS, "pairs of datasets")
        table = _table(a, "correlations")
        return plots.scatter_grid(a.tables.errors, drawn, table, a.tables.metrics)

    return FigureKind(
        f"{caption} {MARKED.format(of='vertical axis')}",
        draw,
        lambda a: plots.scatter_data(a.tables.errors, pairs(a)),
        needs="correlations",
    )


def _driver(parameter: str) -> FigureKind:
    return FigureKind(
        f"Each architecture's {parameter} over its stages, against its test error on each "
        f"dataset. A positive ρ says that the error grows with it. "
        f"{MARKED.format(of='dataset')}",
        lambda a: plots.driver_grid(
            _errors(a), population_in(a.tables), parameter, _table(a, "drivers"), a.tables.metrics
        ),
        lambda a: plots.driver_data(_errors(a), population_in(a.tables), parameter),
        needs="drivers",
    )


def _draw_proxies(analysis: Analysis) -> Figure:
    roles = roles_in(analysis.tables)
    _check_room(len(roles.targets), MOST_PANELS, "targets")
    return plots.proxy_chart(_table(analysis, "proxies"), roles.family)


def _all_pairs(analysis: Analysis) -> pd.DataFrame:
    names = list(analysis.tables.errors.columns)
    pairs = [(x, y) for i, y in enumerate(names) for x in names[:i]]
    return plots.scatter_data(analysis.tables.errors, pairs)


FIGURES: dict[str, FigureKind] = {
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
        lambda a: _table(a, "proxies"),
        needs="proxies",
    ),
    "family": _scatter(
        family_pairs,
        "Test errors on each class subset of the source against those on the source itself.",
    ),
    "heatmap": FigureKind(
        "Rank correlation of the errors for every pair of datasets; below each, where there is "
        "room, its 95% bootstrap interval.",
        lambda a: plots.correlation_heatmap(_table(_with_room(a, MOST_IN_HEATMAP), "correlations")),
        lambda a: _table(a, "correlations"),
        needs="correlations",
    ),
    "matrix": FigureKind(
        "All pairs of datasets. Below the diagonal: test errors in percent, a point an "
        "architecture, the best and worst ten on the row's dataset marked. On the diagonal: their "
        "distribution. Above it: Spearman's ρ with its 95% bootstrap interval.",
        lambda a: plots.scatter_matrix(
            _with_room(a, MOST_IN_MATRIX).tables.errors, _table(a, "correlations")
        ),
        _all_pairs,
        needs="correlations",
    ),
    "depth": _driver("cumulative depth"),
    "width": _driver("cumulative width"),
    "configurations": FigureKind(
        "Stage by stage, what the best architecture on each dataset looks like, and the mean and "
        f"standard deviation of the {TOP} best (of a quarter of the architectures where that is "
        "fewer).",
        lambda a: plots.configuration_grid(_errors(a), population_in(a.tables), _top(a)),
        lambda a: apr.configurations(_errors(a), population_in(a.tables), _top(a)),
    ),
    "noise": FigureKind(
        "How much of the spread is training noise. Each orange row is one architecture trained "
        "several times; above, the distribution of the mean errors of all architectures, a tick "
        "each. sd: standard deviations in points; ICC: share of the architectures in the variance "
        "of a single run, with its 95% interval.",
        lambda a: plots.noise_grid(replicates_in(a.tables), _table(a, "ceiling"), a.tables.metrics),
        lambda a: replicates_in(a.tables),
        needs="ceiling",
    ),
    "curves": FigureKind(
        "Test error after every epoch: median over the architectures, the band that holds 80% of "
        "them, and up to 30 single runs, evenly spread from best to worst.",
        lambda a: plots.curve_grid(_curves(a), a.tables.metrics),
        lambda a: plots.curve_data(_curves(a)),
    ),
    "population": FigureKind(
        "The sampled architectures.",
        lambda a: plots.population_grid(population_in(a.tables)),
        lambda a: plots.population_data(population_in(a.tables)).reset_index(),
    ),
}
"""Every figure by name, in the order of the report."""
