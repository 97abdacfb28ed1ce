"""Tell what proxies are worth for targets in general, measured and freed of noise."""

from functools import cache

import numpy as np
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
from anynet_study.analysis.apr import Roles
from anynet_study.analysis.claims import Claim, Interval, Kind, Said, sources
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Inputs, Study
from anynet_study.analysis.worlds import (
    MANY,
    SIZES,
    SOURCE,
    Draw,
    Setting,
    World,
    holds,
    known_weights,
    of_strata,
    settings,
)
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
    """Put both ends of an interval in one cell; of one proxy it is not said which is the best."""

    def cells(name: str) -> pd.Series:
        ends = zip(table[f"{name}_low"], table[f"{name}_high"], strict=True)
        return pd.Series([wording.interval(*pair) if pd.notna(pair[0]) else "" for pair in ends])

    shown = table.drop(
        columns=[f"{name}_{end}" for name in ("random", "new") for end in ("low", "high")]
    )
    place = shown.columns.get_loc("high") + 1
    shown.insert(place, "random", cells("random"))
    shown.insert(place + 1, "new", cells("new"))
    return shown if table["proxy"].nunique() > 1 else shown.drop(columns="best")


OF_TARGETS = sources("architectures", "targets")
ON_AVERAGE = Kind(
    name="average over such targets",
    speaks=OF_TARGETS,
    smallest=None,
    words={
        "estimate": "taking the targets as a sample of all that there could be, single runs on "
        "{about} correlate with a target by {interval} on average",
    },
)


def of_further_targets(table: pd.DataFrame) -> Said:
    """Return what the source is worth for targets in general."""
    row = table[(table["errors"] == MEASURED) & (table["minus"] == "")].iloc[0]
    mean = Interval(row["random_low"], row["random_high"], OF_TARGETS, estimate=row["estimate"])
    return [Claim(ON_AVERAGE, "targets", mean, str(row["proxy"]))]


#: Mean and standard deviation of the true r of targets in general.
MEAN, BETWEEN = 0.5, 0.15


def of_random_targets(draw: Draw, setting: Setting) -> Inputs:
    """Targets whose r with the source is drawn."""
    r = np.clip(MEAN + BETWEEN * draw.normal(size=setting.targets + 1), -0.95, 0.95)[1:]
    source = draw.normal(size=(setting.n, 1))
    own, weights = draw.normal(size=(setting.n, setting.targets)), None
    if setting.weights:
        source, weights = of_strata(setting.n, draw)
    errors = np.hstack([source, r * source + np.sqrt(1 - r**2) * own])
    names = [SOURCE, *(f"t{number}" for number in range(setting.targets))]
    table = pd.DataFrame(40 + 4 * errors, columns=names)
    known = known_weights(weights)
    return Inputs(errors=table, roles=Roles.among(SOURCE, names, {}), architectures=known)


@cache
def mean_rho() -> float:
    """Spearman's rho with targets in general."""
    r = np.clip(MEAN + BETWEEN * np.random.default_rng(0).normal(size=MANY), -0.95, 0.95)
    return float((6 / np.pi * np.arcsin(r / 2)).mean())


def holds_mean(claim: Claim, inputs: Inputs) -> bool:
    """The interval of a claim holds the correlation with targets in general."""
    return holds(mean_rho())(claim, inputs)


DRAWN = settings(n=SIZES, targets=(7, 2, 3, 20), weights=(False, True))
AVERAGING = (
    World("r of targets is 0.5 ± 0.15", "threshold", of_random_targets, holds_mean, DRAWN),
)


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
    | {"between_std": "std between", "without": "target left out"}
    | {"estimate_without": "average without it"}
    | {"best": "is the best"},
    arrange=arrange,
    say=lambda study, table: of_further_targets(table),
    says={ON_AVERAGE: AVERAGING},
    topic="The source",
    section="proxies",
    heading="On average over these targets, and over others like them",
    shown="open",
    note=(
        "The interval of “average” is for exactly these targets; that of “targets at random” is "
        "for the average over all targets of which these are a sample. “A new target”: the range "
        "in which the correlation with one further target is to be expected. “Target "
        "left out”: the one without which the average changes most. "
        "“Proxies freed of noise”: each correlation is divided by the root of the proxy's "
        "reliability, so that no proxy loses for being noisy."
    ),
)
