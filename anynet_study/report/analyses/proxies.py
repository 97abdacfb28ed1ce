"""Which dataset predicts which (paper 1, sections 4.2 and 4.3)."""

from functools import partial

import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import (
    AnalysisKind,
    Options,
    Parts,
    how,
    intervals,
    roles_in,
    stacked,
)
from anynet_study.report.study import StudyTables

#: Random halves that the ranges of regret are of: they need no more.
MOST_HALVES = 2_000


def correlations(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Of every pair of datasets."""
    datasets = tables.errors.shape[1]
    pairs = max(1, datasets * (datasets - 1) // 2)

    def make() -> pd.DataFrame:
        return apr.correlations(
            tables.errors,
            **how(tables, options),
            on_pairs=lambda done: tables.workings.report(done / pairs),
        )

    return tables.workings.once("correlations", make)


def match(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Source against closest family member."""
    return apr.match_family(tables.errors, roles_in(tables), **how(tables, options))


def proxies(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Every member of the family for every target."""
    return apr.best_proxies(tables.errors, roles_in(tables), **how(tables, options))


def regret(tables: StudyTables, options: Options) -> pd.DataFrame:
    """What choosing by a proxy costs on the target."""
    halves = {"resamples": min(options.resamples, MOST_HALVES)}
    return apr.selection_regret(tables.errors, roles_in(tables), **intervals(options) | halves)


def costs(tables: StudyTables, options: Options) -> pd.DataFrame:
    """How well each member of the family stands for each target, and what a run on it takes."""
    roles = roles_in(tables)
    members = {name: tables.costs[name] for name in roles.family if name in tables.costs}
    if len(members) < len(roles.family) or len(roles.family) < 2:
        raise UserError("the seconds of runs on two or more members of the family are not known")
    return apr.proxy_costs(tables.errors, roles, members, **how(tables, options))


def sizes(tables: StudyTables, options: Options) -> pd.DataFrame:
    """How many architectures narrower intervals of the correlations with the targets need."""
    found = correlations(tables, options)
    if tables.roles is not None:
        source, targets = tables.roles.source, set(tables.roles.targets)
        found = found[
            (found["source"].eq(source) & found["target"].isin(targets))
            | (found["target"].eq(source) & found["source"].isin(targets))
        ]
        other = found["target"].where(found["source"].eq(source), found["source"])
        found = found.assign(source=source, target=other)
    width = found["high"] - found["low"]
    result = found[["source", "target", "estimate", "low", "high"]].assign(width=width)
    result["n"] = found["n"]
    for name, wanted in (("for_half", width / 2), ("for_a_tenth", pd.Series(0.1, found.index))):
        result[name] = _needed(found["estimate"], wanted, options)
    return result.reset_index(drop=True)


def widths(tables: StudyTables, options: Options) -> pd.DataFrame:
    """How wide the intervals of smaller studies are, against Fisher's approximation."""
    roles = roles_in(tables)
    how_often = {"subsamples": 20, "resamples": min(options.resamples, 1_000)}
    parts: Parts = {
        (roles.source, target): partial(
            apr.interval_widths,
            *(tables.errors, roles.source, target),
            method=options.method,
            **intervals(options) | how_often,
        )
        for target in roles.targets
    }
    return stacked(["source", "target"], parts, tables.workings.report)


def _needed(estimate: pd.Series, width: pd.Series, options: Options) -> pd.Series:
    """Architectures for an interval so wide; missing where it has no positive width."""
    known = estimate.notna() & (width > 0)
    needed = pd.Series(pd.NA, estimate.index, dtype="Int64")
    if known.any():
        counts = [
            int(apr.architectures_needed(value, wide, options.level, options.method))
            for value, wide in zip(estimate[known], width[known], strict=True)
        ]
        needed[known] = counts
    return needed


def arrange_match(table: pd.DataFrame) -> pd.DataFrame:
    """Class counts beside the names; the average only where it is of several targets."""
    averaged = table["target"] == "average"
    count = int(table.loc[~averaged, "difference"].notna().sum())

    def named(name: str, classes: str) -> pd.Series:
        counts = table[classes].map("{:.0f}".format, na_action="ignore")
        return table[name].where(counts.isna(), table[name] + " (" + counts.astype(str) + ")")

    shown = table.assign(
        target=named("target", "classes").mask(averaged, f"average of {count}"),
        member=named("member", "member_classes").mask(averaged, ""),
    )
    return shown.drop(columns=["classes", "member_classes"])


KINDS = {
    "correlations": AnalysisKind(
        "Correlation of the errors, every pair of datasets",
        correlations,
        {"source": "dataset", "target": "and", "estimate": "correlation"}
        | {"p_holm": "p (Holm)", "p_bh": "", "fisher": ""},
    ),
    "match": AnalysisKind(
        "Targets: correlation with the source and with its closest family member",
        match,
        {"target": "target (classes)", "member": "closest (classes)"}
        | {"rho_source": "source", "rho_member": "closest member"},
        arrange_match,
    ),
    "proxies": AnalysisKind(
        "Proxies for each target, the best first",
        proxies,
        {"estimate": "correlation", "probability_best": "best in resamples"},
    ),
    "regret": AnalysisKind(
        "Error on the target paid for choosing by a proxy, in points [range over random halves]",
        regret,
        {"top": "best of top", "gain": "gain over random"},
    ),
    "costs": AnalysisKind(
        "Proxies: correlation with the target against the cost of a run",
        costs,
        {"cost": "seconds a run", "estimate": "correlation", "on_front": "none cheaper is better"}
        | {"probability_on_front": "so in resamples"},
    ),
    "sizes": AnalysisKind(
        "Architectures that narrower intervals need (Fisher's approximation)",
        sizes,
        {"estimate": "correlation", "for_half": "n for half the width"}
        | {"for_a_tenth": "n for a width of 0.1"},
    ),
    "widths": AnalysisKind(
        "Width of the intervals of smaller studies: median and spread, and Fisher's",
        widths,
        {"n": "architectures"},
    ),
}
