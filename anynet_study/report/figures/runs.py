"""Single runs: training noise and learning curves."""

import pandas as pd

from anynet_study import apr, plots
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import replicates_in, roles_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import MOST_PANELS, FigureKind, check_room, drawable

#: Lines of architectures that a reader can follow at all.
MOST_LINES = 200


def _curves(analysis: Analysis) -> pd.DataFrame:
    curves = analysis.tables.curves
    if curves is None or curves["error"].notna().sum() == 0:
        raise UserError("no curves are stored")
    check_room(curves["dataset"].nunique(), MOST_PANELS)
    return curves


def _durations(analysis: Analysis) -> pd.DataFrame:
    table = drawable(analysis, "duration")
    if table["epochs"].max() < 2:
        raise UserError("one epoch has no curve")
    check_room(table["dataset"].nunique(), MOST_PANELS)
    return table


def _metrics(analysis: Analysis) -> tuple[pd.DataFrame, pd.DataFrame]:
    check_room(len(analysis["metrics"]), MOST_PANELS)
    return analysis.tables.by_metric["top1"], analysis.tables.by_metric["top5"]


def _recipes(
    analysis: Analysis,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, tuple[str, str]]:
    """Errors before and after, their agreement, and what to call them, of the first other one."""
    table = analysis["recipes"]
    name = table["recipe"].iloc[0]
    rows = table[table["recipe"] == name]
    check_room(len(rows), MOST_PANELS)
    return analysis.tables.errors, analysis.tables.recipes[name], rows, ("main recipe", name)


def _by_recipe(
    analysis: Analysis,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, str, tuple[str, str]]:
    """Errors before and after, their correlations with the source, of the first other recipe."""
    table = drawable(analysis, "source-by-recipe", "source_after").dropna(subset="source_after")
    name = table["recipe"].iloc[0]
    rows = table[table["recipe"] == name]
    check_room(len(rows), MOST_PANELS)
    source = roles_in(analysis.tables).source
    tables = analysis.tables
    return tables.errors, tables.recipes[name], rows, source, ("main recipe", name)


def _versions(analysis: Analysis) -> tuple[pd.DataFrame, tuple[str, str, str]]:
    """Correlations with the source and its first pair of smaller versions, and their names."""
    table = drawable(analysis, "class-or-size", "rho_source").dropna(subset="rho_source")
    pair = tuple(table[["fewer_images", "fewer_classes"]].iloc[0])
    rows = table[(table[["fewer_images", "fewer_classes"]] == pair).all(axis=1)]
    check_room(rows["target"].nunique(), MOST_PANELS, "targets")
    return rows, (roles_in(analysis.tables).source, *pair)


def _ranks(analysis: Analysis) -> pd.DataFrame:
    analysis["ties"]
    check_room(len(analysis.tables.errors), MOST_LINES, "architectures")
    return apr.tied_ranks(apr.replicate_intervals(replicates_in(analysis.tables)))


KINDS: dict[str, FigureKind] = {
    "noise": FigureKind(
        "How much of the spread is training noise. Each orange row is one architecture trained "
        "several times; above, the distribution of the mean errors of all architectures, a tick "
        "each. sd: standard deviations in points; ICC: share of the architectures in the variance "
        "of a single run, with its 95% interval.",
        lambda a: plots.noise_grid(replicates_in(a.tables), drawable(a, "noise"), a.tables.metrics),
        lambda a: replicates_in(a.tables),
        needs=("noise",),
    ),
    "curves": FigureKind(
        "Test error after every epoch: median over the architectures, the band that holds 80% of "
        "them, and up to 30 single runs, evenly spread from best to worst.",
        lambda a: plots.curve_grid(_curves(a), a.tables.metrics),
        lambda a: plots.curve_data(_curves(a)),
    ),
    "duration": FigureKind(
        "Rank correlation of the errors after every epoch with those after the last one; marked: "
        "the first epoch from which on it is high enough.",
        lambda a: plots.duration_grid(_durations(a), a["budget"]),
        lambda a: a["duration"],
        needs=("duration", "budget"),
    ),
    "metrics": FigureKind(
        "Top-5 against top-1 errors.",
        lambda a: plots.agreement_grid(*_metrics(a), a["metrics"], ("top-1", "top-5")),
        lambda a: plots.agreement_data(*_metrics(a), list(a["metrics"]["dataset"])),
        needs=("metrics",),
    ),
    "recipes": FigureKind(
        "Errors under another recipe against those under the main one.",
        lambda a: plots.agreement_grid(*_recipes(a)),
        lambda a: plots.agreement_data(*_recipes(a)[:2], list(_recipes(a)[2]["dataset"])),
        needs=("recipes",),
    ),
    "source-by-recipe": FigureKind(
        "Errors on each target under the main recipe and under another one, such as from "
        "pretrained weights, against those on the source under the main one.",
        lambda a: plots.source_by_recipe_grid(*_by_recipe(a)),
        lambda a: a["source-by-recipe"],
        needs=("source-by-recipe",),
    ),
    "class-or-size": FigureKind(
        "Rank correlation of each target with the source, and with its versions of fewer images "
        "and of fewer classes, with 95% bootstrap intervals.",
        lambda a: plots.class_or_size_chart(*_versions(a)),
        lambda a: a["class-or-size"],
        needs=("class-or-size",),
    ),
    "ranks": FigureKind(
        "Rank of every architecture on every dataset, a line an architecture. Bars: the ranks that "
        "overlapping 95% intervals, from the replicates, leave open.",
        lambda a: plots.rank_preservation_chart(_ranks(a)),
        _ranks,
        needs=("ties",),
    ),
}
