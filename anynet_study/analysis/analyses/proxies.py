"""Tell which dataset predicts a target, and what choosing by it costs (paper 1, section 4.3)."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import MARKED, with_averages
from anynet_study.analysis.analyses.noise import known_noise, noise_together
from anynet_study.analysis.analysis import (
    MOST_PANELS,
    Analysis,
    StudyFigure,
    check_known,
    check_room,
)
from anynet_study.analysis.apr import Roles
from anynet_study.analysis.apr.proxies import DIFFERENCE_ENDS
from anynet_study.analysis.claims import Answer, BestSet, Claim, Fact, Interval, Kind, Said, sources
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Inputs, Study
from anynet_study.analysis.worlds import (
    MIDDLE,
    OF_ERRORS,
    SIZES,
    SOURCE,
    SPREAD,
    Draw,
    Setting,
    Shape,
    World,
    answers,
    correlated,
    known_weights,
    noise_for,
    of_strata,
    r_for,
    settings,
    shaped,
)
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Resamples that the intervals of regret need.
MOST_RESAMPLES = 2_000


def match(study: Study) -> pd.DataFrame:
    """Source against closest family member."""
    noise = noise_together(study, 1 + len(study.roles.targets))
    table = apr.match_family(study.errors, study.roles, **study.weighted, noise=noise)
    for counts in ("classes", "member_classes"):
        table[counts] = table[counts].where(table[counts] > 0)  # those that are known
    return table


def arrange_match(table: pd.DataFrame) -> pd.DataFrame:
    """Class counts beside the names; the average only where it is of several targets.

    A source that is itself closest is called so, and has no difference to itself; where it is so to
    every target, nothing but its own correlation is there.
    """

    def named(name: str, classes: str) -> pd.Series:
        counts = table[classes].map("{:.0f}".format, na_action="ignore")
        return table[name].where(counts.isna(), table[name] + " (" + counts.astype(str) + ")")

    names = {"target": named("target", "classes"), "member": named("member", "member_classes")}
    shown = table.assign(**names).drop(columns=["classes", "member_classes"])
    count = int(table["difference"].notna().sum())
    # An average of one target would say the same again.
    shown = with_averages(shown, "target", f"average of {count}") if count > 1 else shown
    itself = shown[["difference", *DIFFERENCE_ENDS]].eq(0).all(axis="columns")
    shown.loc[itself & shown["member"].ne(""), "member"] = "the source itself"
    shown.loc[itself, ["difference", *DIFFERENCE_ENDS]] = np.nan
    if itself.all():
        member = [name for name in shown if name.startswith(("member", "rho_member", "difference"))]
        return shown.drop(columns=member)
    return shown


def source_pairs(study: Study) -> list[tuple[str, str]]:
    """Source and each target (paper 1, Figure 3)."""
    return [(study.roles.source, target) for target in study.roles.targets]


def matched_pairs(study: Study) -> list[tuple[str, str]]:
    """The family member closest in class count, and the target (paper 1, Figure 5)."""
    roles = study.roles
    pairs = [(roles.closest_member(classes), target) for target, classes in roles.targets.items()]
    if all(member == roles.source for member, _ in pairs):
        raise DoesNotApplyError(f"to every target {roles.source} itself is closest in class count")
    return pairs


def family_pairs(study: Study) -> list[tuple[str, str]]:
    """Source and each other member of its family (paper 1, Figure 4)."""
    roles = study.roles
    pairs = [(roles.source, member) for member in roles.family if member != roles.source]
    if not pairs:
        raise DoesNotApplyError(f"{roles.source} has no subsets of its classes in this study")
    return pairs


def scatter(
    name: str, title: str, pairs: Callable[[Study], list[tuple[str, str]]], caption: str
) -> StudyFigure[Study]:
    """A figure of a panel for each pair of datasets."""

    def data(study: Study) -> pd.DataFrame:
        check_room(len(pairs(study)), MOST_PANELS, "pairs of datasets")
        check_known(study.table("correlations"))
        return plots.scatter_data(study.errors, pairs(study))

    def draw(study: Study, _: pd.DataFrame) -> "Figure":
        table = study.table("correlations")
        return plots.scatter_grid(study.errors, pairs(study), table, study.metrics)

    return StudyFigure(
        name=name,
        title=title,
        caption=f"{caption} {MARKED.format(of='vertical axis')}",
        draw=draw,
        data=data,
        needs=("correlations",),
        expected=True,
    )


#: What the interval of a correlation without noise carries.
OF_NOISELESS = sources("architectures", "trainings")
OF_MEASURED = sources("architectures")
CARRIES_OVER = Kind(
    name="carries over",
    speaks=OF_NOISELESS,
    smallest=apr.SMALLEST_CORRELATION,
    subject="the ranking of the architectures on {about}",
    what="targets",
    words={
        "yes": "{subject} carries over to {names}",
        "opposite": "{subject} is reversed on {names}: what is better on {about} is worse there",
        "no": "{subject} does not carry over to {any_of}: without the noise of training, a "
        f"correlation of {wording.number(apr.SMALLEST_CORRELATION)} or more is unlikely there",
        "undecided": "it is undecided whether {subject} carries over to {any_of}",
        "unknown": "{subject} cannot be compared with {any_of}: too few, or constant, errors",
    },
)
IS_RAISED = Kind(
    name="average is raised",
    speaks=OF_MEASURED,
    smallest=apr.SMALLEST_DIFFERENCE,
    words={
        cast(
            Answer, answer
        ): "taking the class subset of {about} that is closest in class count to the target, "
        f"instead of {{about}}, {does} the average correlation of single runs with these targets "
        "(a difference of {interval})"
        for answer, does in {
            "yes": "raises",
            "opposite": "lowers",
            "no": "does not raise",
            "undecided": "may or may not raise",
        }.items()
    },
)


def carried_over(rows: pd.DataFrame, source: str) -> Said:
    """Does the ranking on the source carry over to the targets?"""
    return [
        Claim(
            CARRIES_OVER,
            str(row["target"]),
            Interval(row["carries_low"], row["carries_high"], OF_NOISELESS, len(rows)),
            source,
            len(rows),
        )
        for row in rows.to_dict("records")
    ]


def gain(match: pd.DataFrame, source: str) -> Said:
    """Is the family member closest in class count a better proxy than the source, on average?"""
    if not (averages := match.attrs["averages"]):
        return []
    [row] = averages
    low, high = row["difference_low"], row["difference_high"]
    if row["difference"] == 0 and low == high == 0:
        said = (
            "In its family, {source} itself is closest in class count to every target, so matching "
            "class counts changes nothing."
        )
        return [Fact(said, {"source": source})]
    evidence = Interval(low, high, OF_MEASURED, estimate=row["difference"])
    return [Claim(IS_RAISED, "the targets", evidence, source)]


def of_targets(rho: float) -> Callable[[Draw, Setting], Inputs]:
    """Studies of a source that correlates by rho with every target."""
    return lambda draw, setting: correlated([rho] * setting.targets, setting, draw)


NOISY = (
    Setting(n=300, icc=0.5),
    *(Setting(n=n, icc=0.5, twice=4) for n in (100, 300)),
    *(Setting(icc=0.8, twice=twice) for twice in (16, 100)),
    Setting(icc=0.8, twice=100, shape="guessing"),
)
SOME = (Setting(), Setting(n=30), Setting(targets=20), *NOISY[:4])
CARRYING = (
    World("rho 0.29 with every target", "false", of_targets(0.29), answers("no"), OF_ERRORS),
    World("rho 0.3 with every target", "threshold", of_targets(0.3), answers("yes"),
          OF_ERRORS + NOISY),
    World("rho 0 with every target", "false", of_targets(0.0), answers("no"), SOME),
    World("rho 0.7 with every target", "true", of_targets(0.7), answers("yes"), SOME),
)  # fmt: skip


def of_member(rho: float, ahead: float) -> Callable[[Draw, Setting], Inputs]:
    """The source is a noisier copy of a member of its family, which is `ahead` of it."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        drawn = correlated([rho] * setting.targets, setting, draw)
        noise = noise_for(rho, rho - ahead, setting.shape) * draw.normal(size=setting.n)
        errors = drawn.errors.rename(columns={SOURCE: "half"})
        errors.insert(0, SOURCE, errors["half"] + SPREAD * noise)
        targets = dict.fromkeys(errors.columns[2:], 50)
        return replace(
            drawn, errors=errors, roles=Roles(SOURCE, {SOURCE: 100, "half": 50}, targets)
        )

    return draw_inputs


RAISING = (
    World("ahead by 0.04", "false", of_member(0.7, 0.04), answers("no"), OF_ERRORS),
    World("ahead by 0.05", "threshold", of_member(0.7, 0.05), answers("yes"), OF_ERRORS),
    World("ahead by 0.15", "true", of_member(0.7, 0.15), answers("yes"), OF_ERRORS[:1]),
)


MATCH = Analysis[Study](
    name="match",
    title="Targets: correlation with the source and with its closest family member",
    table=match,
    question=(
        "Does the ranking on the source carry over to each target, and does a "
        "class subset of it fit better?"
    ),
    formula=(
        "ρ(source, target), ρ(member, target) and their difference, on the same architectures and"
        " resamples"
    ),
    source="paper 1, section 4.3 and Table 3",
    avoid=(
        "to choose the best member: this one was fixed beforehand, by its number of classes; "
        "`proxies` allows for a choice"
    ),
    needs=("roles",),
    headings={"target": "target (classes)", "member": "closest (classes)"}
    | {"carries_low": "", "carries_high": ""}
    | {"rho_source": "source", "rho_member": "closest member", "carries_over": "carries over"},
    arrange=arrange_match,
    figures=(
        scatter(
            "source",
            "Targets against the source",
            source_pairs,
            "Test errors on each target against those of the same architectures on the source.",
        ),
        scatter(
            "matched",
            "Targets against the closest member of the family",
            matched_pairs,
            "Test errors on each target against those on the member of the source's family that is "
            "closest in class count.",
        ),
    ),
    say=lambda study, table: [
        *carried_over(table, study.roles.source),
        *(gain(table, study.roles.source) if len(study.roles.family) > 1 else []),
    ],
    says={CARRIES_OVER: CARRYING, IS_RAISED: RAISING},
    topic="The source",
    section="proxies",
    heading="The source, and its class subset closest to each target",
    lead="For each target: how its errors correlate with those on the source, and with those on "
    "the member of the source's family with the nearest number of classes. The difference compares "
    "the two on the same architectures and resamples. The ranking on the source carries over where "
    f"the correlation is shown to be {apr.SMALLEST_CORRELATION} or more, in intervals that hold "
    "for all targets together; it does not where it is shown to be less without the noise of "
    "training, of which replicates tell (or --least-icc declares) how much there is; otherwise "
    "that is undecided.",
    shown="open",
    expected=True,
)


def proxies(study: Study) -> pd.DataFrame:
    """Every member of the family for every target."""
    return apr.best_proxies(study.errors, study.roles, **study.weighted)


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """The table of proxies for people: of one proxy nothing says whether it is the best."""
    return table if table["proxy"].nunique() > 1 else table.drop(columns="best")


OF_CHOSEN = sources("architectures", "choice")
IS_USEFUL = Kind(
    name="is useful",
    speaks=OF_CHOSEN,
    smallest=apr.SMALLEST_CORRELATION,
    what="targets",
    words={
        "yes": "for {names}, {proxy} is a useful proxy, {letter} = {interval}",
        "undecided": "no proxy for {names} is shown to be useful",
        "unknown": "no proxy can be named for {names}: too few or constant errors",
    },
)
IS_BEST = Kind(
    name="is the best",
    speaks=OF_CHOSEN,
    what="targets",
    words={
        "yes": "for {names}, {members} is the best proxy of the family, of single runs",
        "undecided": "for {names}, {members} may be the best proxy of the family",
    },
)


def useful(rows: pd.DataFrame, letter: str, asked: int) -> Claim:
    """Is the member that correlates most with a target a useful proxy for it?"""
    best = rows.iloc[0]
    evidence = Interval(best["low"], best["high"], OF_CHOSEN, asked, best["estimate"])
    told = {"proxy": str(best["proxy"]), "letter": letter}
    return Claim(IS_USEFUL, str(best["target"]), evidence, asked=asked, told=told)


def can_be_best(rows: pd.DataFrame, asked: int) -> Claim:
    """Tell which members of the family can be the best proxy for a target?"""
    known = rows[rows["estimate"].notna()]
    members = tuple(map(str, known.loc[known["best"] != "no", "proxy"]))
    evidence = BestSet(members, len(known), OF_CHOSEN, asked)
    return Claim(IS_BEST, str(rows["target"].iloc[0]), evidence, asked=asked)


def which_proxies(table: pd.DataFrame) -> Said:
    """Tell which member to use; of the source alone, what `carried_over` says is all."""
    if table["proxy"].nunique() < 2:
        return []
    rows = [part for _, part in table.groupby("target", sort=False)]
    best = [can_be_best(part, len(rows)) for part in rows]
    return [*best, *(useful(part, wording.letter(table), len(rows)) for part in rows)]


def of_family(ahead: float, rho: float = 0.6) -> Callable[[Draw, Setting], Inputs]:
    """Four members of a family, the first ahead of the others, for every target."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        names = [SOURCE, "half", "quarter", "tenth"]
        hub, weights = draw.normal(size=(setting.n, 1)), None
        if setting.weights:
            hub, weights = of_strata(setting.n, draw)
        to_target = np.sqrt(r_for(rho, setting.shape))
        r = np.array([r_for(it, setting.shape) for it in (rho, *[rho - ahead] * 3)]) / to_target
        members = r * hub + np.sqrt(1 - r**2) * draw.normal(size=(setting.n, 4))
        own = draw.normal(size=(setting.n, setting.targets))
        targets = [f"t{number}" for number in range(setting.targets)]
        both = [MIDDLE + SPREAD * members, shaped(hub, own, to_target, setting.shape, draw)]
        errors = pd.DataFrame(np.hstack(both), columns=[*names, *targets])
        counts = dict(zip(names, (100, 50, 25, 10), strict=True))
        roles = Roles(SOURCE, counts, dict.fromkeys(targets, 50))
        return Inputs(errors=errors, roles=roles, architectures=known_weights(weights))

    return draw_inputs


def names_first(claim: Claim, _: Inputs) -> bool:
    """The only one that can be the best is the first."""
    return isinstance(claim.evidence, BestSet) and claim.evidence.can_be == (SOURCE,)


def nobody(claim: Claim, _: Inputs) -> bool:
    """Whoever is told to be the best is not."""
    return False


#: Where errors fan out by what a member does not hold, what is true of it is not known.
EVEN: tuple[Shape, ...] = ("normal", "skewed", "guessing", "diverged")
OF_FAMILY = settings(n=SIZES, targets=(2, 1, 7, 20), shape=EVEN, weights=(False, True))
ONE = OF_FAMILY[:2]
BEING_BEST = (
    World("four equal proxies", "false", of_family(0.0), nobody, OF_FAMILY),
    World("the first ahead by 0.001", "threshold", of_family(0.001), names_first,
          OF_FAMILY),
    World("the first ahead by 0.3", "true", of_family(0.3, 0.7), names_first, ONE),
)  # fmt: skip
BEING_USEFUL = (
    World("rho 0.29 of all", "false", of_family(0.0, 0.29), answers("no"), OF_FAMILY),
    World("rho 0.3 of all", "threshold", of_family(0.0, 0.3), answers("yes"), OF_FAMILY),
    World("rho 0.7 of all", "true", of_family(0.0, 0.7), answers("yes"), ONE),
)


PROXIES = Analysis[Study](
    name="proxies",
    older_names=("best-quarter",),
    title="Proxies for each target, the best first",
    table=proxies,
    question="Which member of the source's family predicts each target best, also its best?",
    formula=(
        "ρ(proxy, target) for every member; the best are those that no other beats in paired "
        "differences; ρ over the best quarter on the proxy; the share of the best tenth on the "
        "target that is in the best tenth on the proxy"
    ),
    source="paper 1, section 4.3; Hsu, Multiple Comparisons, 1996, chapters 4 and 5; Clopper and "
    "Pearson 1934 for the shares",
    avoid="with few architectures: nearly every proxy can then be the best, and of fewer than 37 a "
    "quarter is less than ten, and says little",
    needs=("roles",),
    headings={"estimate": "correlation", "best": "is the best", "quarter": "", "shared": ""}
    | {"quarter_rho": "in its best quarter", "top": "best", "overlap": "share found"},
    arrange=compared,
    figures=(
        StudyFigure(
            name="proxies",
            title="Proxies for each target",
            caption="{correlation} of each target's errors with those on each member of the "
            "source's family. Bars: {level} bootstrap intervals, which hold together for all "
            "members and targets.",
            draw=lambda study, table: plots.proxy_chart(table, study.roles.family),
            column="estimate",
            panels="target",
            expected=True,
        ),
        scatter(
            "family",
            "The family against the source",
            family_pairs,
            "Test errors on each class subset of the source against those on the source itself.",
        ),
    ),
    say=lambda study, table: which_proxies(table),
    says={IS_BEST: BEING_BEST, IS_USEFUL: BEING_USEFUL},
    topic="Which proxy",
    section="proxies",
    heading="Every member of the family as a proxy",
    lead="The intervals of the correlations hold together, so they also hold for a member that is "
    "chosen because it looks best. The members that are not marked “no” are the confidence set of "
    "the best (multiple comparisons with the best, on paired differences): any of them can be it.",
    shown="open",
    note="In its best quarter: the correlation over the quarter of the architectures with the "
    "lowest errors on the proxy, with a bootstrap interval (by a formula where they are fewer than "
    "10). It is lower than that over all architectures, as these differ less. Share found: how "
    "many of the best tenth on the target are also in the best tenth on the proxy, with the exact "
    "binomial interval of their share, which is somewhat too wide.",
    expected=True,
)


def regret(study: Study) -> pd.DataFrame:
    """Return what choosing by a proxy costs on the target."""
    how = study.options.intervals
    how["resamples"] = min(how["resamples"], MOST_RESAMPLES)
    roles = study.roles
    noise = known_noise(study)
    known = set() if noise is None else set(noise.loc[noise["icc"] > 0, "dataset"])
    replicates = study.replicates if known & {*roles.targets} else None
    table = apr.selection_regret(study.errors, roles, **how, replicates=replicates)
    # Where there are fewer architectures, none can be the best of so many.
    return table[table["top"].le(table["n"].max()) | table["top"].eq(1)].reset_index(drop=True)


REGRET = Analysis[Study](
    name="regret",
    title="Expected error above the lowest, in points, when a proxy chooses the architecture",
    table=regret,
    question="How many points of error does it cost to choose an architecture by a proxy?",
    formula=(
        "E[target error of the best of the proxy's k best] - E[lowest target error of n], for "
        "normal errors with Spearman's ρ"
    ),
    source="paper 1, section 5.1, for the question",
    avoid=(
        "where the lowest errors are far from normal, as with a floor that many architectures reach"
    ),
    needs=("roles", "equal_weights"),
    headings={"top": "best of top", "chance": "of a random choice", "share": "share of that"}
    | {"error": "measured error", "random": "random", "oracle": "least", "reliability": ""},
    figures=(
        StudyFigure(
            name="regret",
            title="Regret",
            caption="What the best of the k architectures that are best on a proxy is expected to "
            "err more on each target than the best of all, in points, with {level} intervals; "
            "dashed: k architectures at random.",
            draw=lambda study, table: plots.regret_grid(table, study.roles.family),
            column="regret",
            panels="target",
        ),
    ),
    most_resamples=MOST_RESAMPLES,
    section="proxies",
    heading="What it costs to choose by a proxy",
    shown="folded",
    caption="Regret of choosing by a proxy",
    note="Of the k architectures that are best on the proxy, the best on the target is kept. "
    "Regret: by how much its error is expected to exceed the lowest of as many architectures as "
    "here, for normal errors with this correlation of ranks and the spread of the target's better "
    "half; without training noise on the target where its reliability is known. For comparison, as "
    "measured: the error of this choice, of the best of k random architectures, and the lowest.",
)


def costs(study: Study) -> pd.DataFrame:
    """Tell how well each member of the family stands for each target, and what a run on it
    takes.
    """
    family = study.roles.family
    members = {name: study.costs[name] for name in family if name in study.costs}
    if len(members) < len(family) or len(family) < 2:
        raise DoesNotApplyError(
            "the seconds of runs on two or more members of the family are not known"
        )
    return apr.proxy_costs(study.errors, study.roles, members, **study.weighted)


COSTS = Analysis[Study](
    name="costs",
    title="Proxies: correlation with the target against the cost of a run",
    table=costs,
    question="Which proxies are worth their price?",
    formula=(
        "ρ(proxy, target) against mean seconds per run; Pareto-optimal: no proxy that costs as "
        "little or less correlates more"
    ),
    source="paper 1, section 5.2, for the question",
    avoid="where runs were trained on machines of different speeds",
    needs=("roles",),
    headings={"cost": "seconds per run", "estimate": "correlation"}
    | {"on_front": "Pareto-optimal", "probability_on_front": "in resamples"},
    figures=(
        StudyFigure(
            name="costs",
            title="Cost of the proxies",
            caption="{correlation} with each target against the mean seconds of a run on the "
            "proxy. Those on the line are Pareto-optimal: no cheaper proxy is better.",
            draw=lambda study, table: plots.cost_grid(table, "seconds per run", study.roles.family),
            column="estimate",
            panels="target",
        ),
    ),
    section="proxies",
    shown="folded",
    caption="Costs of the proxies",
    note="Seconds: the mean over the completed runs on the proxy.",
)
