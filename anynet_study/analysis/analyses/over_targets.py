"""What do the proxies say of targets in general, and would they, were they free of noise?"""

import pandas as pd

from anynet_study.analysis import apr
from anynet_study.analysis.analyses.building import one_of
from anynet_study.analysis.analyses.noise import (
    FREED,
    MEASURED,
    cut,
    replicates_of,
)
from anynet_study.analysis.analysis import Analysis
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError


def over_targets(study: Study) -> pd.DataFrame:
    """The family's members as proxies, on average over the targets, these and others."""
    roles = study.roles
    roles.check(study.errors.columns)
    if len(roles.targets) < 2:
        raise DoesNotApplyError("the study has one target: nothing varies between targets")
    proxies = [roles.source, *(name for name in roles.family if name != roles.source)]
    how = (proxies, [*roles.targets])
    parts = {MEASURED: apr.compare_proxies(study.errors, *how, **study.weighted)}
    replicates = replicates_of(study, proxies)
    if replicates is not None:
        parts[FREED] = apr.compare_proxies(
            study.errors, *how, replicates=replicates, **study.weighted
        )
    table = one_of("errors", parts)
    most = table["minus"].eq("").map({True: 1.0, False: 2.0})
    return cut(table, {"estimate": most, "estimate_without": most})


def arrange(table: pd.DataFrame) -> pd.DataFrame:
    """Put both ends of an interval in one cell."""

    def cells(name: str) -> pd.Series:
        ends = zip(table[f"{name}_low"], table[f"{name}_high"], strict=True)
        return pd.Series([wording.interval(*pair) if pd.notna(pair[0]) else "" for pair in ends])

    shown = table.drop(
        columns=[f"{name}_{end}" for name in ("random", "new") for end in ("low", "high")]
    )
    place = shown.columns.get_loc("high") + 1
    shown.insert(place, "random", cells("random"))
    shown.insert(place + 1, "new", cells("new"))
    return shown


def of_further_targets(table: pd.DataFrame) -> list[str]:
    """What the source is worth for targets in general."""
    rows = table[(table["errors"] == MEASURED) & (table["minus"] == "")]
    row = rows.iloc[0]
    if pd.isna(row["random_low"]):
        return []
    average = f"{wording.number(row['estimate'])} "
    average += wording.interval(row["random_low"], row["random_high"])
    low, high = row["new_low"], row["new_high"]
    further = f", and with one further target by {wording.number(low)} to {wording.number(high)}"
    further = "; with one further target, by anything" if low <= -1 and high >= 1 else further
    return [
        f"Taking the targets as a sample of all that there could be, {row['proxy']} correlates "
        f"with a target by {average} on average{further}."
    ]


OVER_TARGETS = Analysis[Study](
    name="over-targets",
    title="Proxies on average over the targets, these and others like them",
    table=over_targets,
    question="Which proxy is best on average, for these targets and for others like them?",
    formula=(
        "mean of ρ(proxy, target) over the T targets; its variance for targets at random is s²/T + "
        "c, with s² that of the T values and c the mean covariance of two of them over resampled "
        "architectures"
    ),
    source="Higgins, Thompson and Spiegelhalter 2009",
    avoid=(
        "for targets that were chosen because a proxy does well on them: they are not a sample of "
        "others"
    ),
    needs=("roles",),
    headings={"estimate": "average", "random": "targets at random", "new": "a new target"}
    | {"between_std": "std between", "without": "most without", "estimate_without": "average then"}
    | {"best": "is the best"},
    arrange=arrange,
    say=lambda study, table: of_further_targets(table),
    topic="The source",
    section="proxies",
    heading="On average over these targets, and over others like them",
    shown="open",
    note=(
        "The interval of “average” is for exactly these targets; that of “targets at random” is "
        "for the average over all targets of which these are a sample. “A new target”: the range "
        "in which the correlation with one further target is to be expected. “Most without”: the "
        "target whose removal changes the average most; “average then”: the average without it. "
        "“Proxies freed of noise”: each correlation is divided by the root of the proxy's "
        "reliability, so that no proxy loses for being noisy."
    ),
)
