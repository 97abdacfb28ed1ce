"""How long, how, and on what to train (paper 1, sections 6.1 and 6.2, Figures A1 to A6)."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import (
    AnalysisKind,
    Options,
    Parts,
    correlating,
    how,
    population_in,
    roles_in,
    stacked,
)
from anynet_study.report.study import StudyTables

NO_CURVES = "no learning curves are stored"
ONE_RECIPE = "all runs have the same recipe"
#: Correlations with the source: under the main recipe, under another, and their difference.
WHEN = ("before", "after", "difference")


def duration(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Does the ranking after part of the training hold at its end?"""
    if tables.curves is None or not tables.curves["error"].notna().any():
        raise UserError(NO_CURVES)
    curves, resamples = tables.curves, min(options.resamples, 1_000)
    how_often = (options.method, resamples, options.seed, options.level)
    return tables.workings.once("duration", lambda: apr.duration(curves, *how_often))


def budget(tables: StudyTables, options: Options) -> pd.DataFrame:
    """The earliest epoch from which on the ranking is that of the end."""
    return apr.cheapest_budget(duration(tables, options))


def recipes(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Every other recipe against the main one."""
    if not tables.recipes:
        raise UserError(ONE_RECIPE)
    parts: Parts = {
        (name,): partial(apr.agreement, tables.errors, errors, **correlating(options))
        for name, errors in tables.recipes.items()
    }
    return stacked(["recipe"], parts, tables.workings.report)


def source_by_recipe(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Does the source predict a target better once training starts from its weights (A6)?"""
    if not tables.recipes:
        raise UserError(ONE_RECIPE)
    source = roles_in(tables).source
    roles_in(tables).check(tables.errors.columns)
    parts: Parts = {
        (name,): partial(apr.agreement, tables.errors, errors, source, **correlating(options))
        for name, errors in tables.recipes.items()
    }
    table = stacked(["recipe"], parts, tables.workings.report)
    if "source_before" not in table:
        return table
    ends = [f"source_{what}{end}" for what in WHEN for end in ("", "_low", "_high")]
    notes = [name for name in ("note",) if name in table]
    return table[["recipe", "dataset", *ends, "n", *notes]]


def metrics(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Top-5 against top-1 errors."""
    if not tables.by_metric:
        raise UserError("top-5 errors on datasets of more than five classes are not known")
    both = tables.by_metric
    return apr.agreement(both["top1"], both["top5"], **correlating(options))


def balance(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Datasets against their balanced versions."""
    pairs = variants_of(tables, lambda variant: variant.pop("balanced", False))
    if not pairs:
        raise UserError("no dataset is there with a balanced version of it")
    parts: Parts = {}
    for plain, balanced in pairs:
        after = tables.errors[[balanced]].set_axis([plain], axis="columns")
        before = tables.errors[[plain]]
        parts[balanced,] = partial(apr.agreement, before, after, **correlating(options))
    return stacked(["version"], parts, tables.workings.report)


def class_or_size(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Is it a subset's fewer classes, or its fewer images?"""
    roles = roles_in(tables)
    fewer = [
        small
        for whole, small in variants_of(
            tables, lambda v: [v.pop(key, None) for key in ("per_class", "fraction")] != [None] * 2
        )
        if whole == roles.source
    ]
    subsets = [name for name in roles.family if name != roles.source and name not in fewer]
    if not fewer or not subsets:
        raise UserError(f"needed: {roles.source} with fewer images, and with fewer classes")
    counts = _training_images(tables)
    parts: Parts = {}
    for images in fewer:
        classes = min(subsets, key=lambda name: abs(counts[name] - counts[images]))
        triple = (roles.source, images, classes)
        parts[images, classes] = partial(
            apr.class_or_size, tables.errors, *triple, list(roles.targets), **correlating(options)
        )
    return stacked(["fewer_images", "fewer_classes"], parts, tables.workings.report)


def training_drivers(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Do deeper or wider architectures fit the training images better?"""
    if tables.training_errors is None:
        raise UserError("no training errors are stored")
    return apr.drivers(tables.training_errors, population_in(tables), **how(tables, options))


def variants_of(
    tables: StudyTables, differs: Callable[[dict[str, Any]], object]
) -> list[tuple[str, str]]:
    """Pairs of datasets (plain, changed) that differ in one way alone.

    `differs` takes that way's keys out of a variant, and says whether it was changed by them.
    """
    if tables.datasets is None:
        return []
    plain: dict[str, str] = {}
    changed: list[tuple[str, str]] = []
    for name, text in zip(tables.datasets["dataset"], tables.datasets["variant"], strict=True):
        variant = json.loads(text or "{}")
        is_changed = bool(variant) and differs(variant)
        rest = json.dumps(variant, sort_keys=True)
        if is_changed:
            changed.append((rest, name))
        elif variant:
            plain.setdefault(rest, name)
    return [(plain[rest], name) for rest, name in changed if rest in plain]


def _training_images(tables: StudyTables) -> dict[str, int]:
    assert tables.datasets is not None
    return dict(zip(tables.datasets["dataset"], tables.datasets["train_images"], strict=True))


CHANGE = {"estimate": "correlation", "mean_before": "mean before", "mean_after": "after"}

KINDS = {
    "duration": AnalysisKind(
        "Correlation of the ranking after part of the training with that at its end",
        duration,
        {"estimate": "correlation", "share": "share of training"},
    ),
    "budget": AnalysisKind(
        "The shortest training that keeps the final ranking",
        budget,
        {"keep": "correlation wanted", "estimate": "correlation", "share": "share of training"}
        | {"epoch_sure": "epoch where sure"},
    ),
    "recipes": AnalysisKind("Other recipes against the main one", recipes, CHANGE),
    "source-by-recipe": AnalysisKind(
        "Correlation with the source's errors under other recipes, such as from pretrained weights",
        source_by_recipe,
        {"source_before": "main recipe", "source_after": "this recipe"}
        | {"source_difference": "difference"},
    ),
    "metrics": AnalysisKind(
        "Top-5 against top-1 errors",
        metrics,
        CHANGE | {"mean_before": "mean top-1", "mean_after": "mean top-5"},
    ),
    "balance": AnalysisKind("Datasets against their balanced versions", balance, CHANGE),
    "class-or-size": AnalysisKind(
        "Fewer images or fewer classes: correlation with the targets",
        class_or_size,
        {"rho_source": "source", "rho_images": "with fewer images"}
        | {"rho_classes": "with fewer classes", "by_images": "gained by fewer images"}
        | {"by_classes": "by fewer classes"},
    ),
    "training-drivers": AnalysisKind(
        "Correlation of the training errors with the architecture",
        training_drivers,
        {"estimate": "correlation", "p_holm": "p (Holm)"},
    ),
}
