"""Which dataset predicts a target, and what does choosing by it cost (paper 1, section 4.3)?"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import (
    MARKED,
    any_of,
    some,
    with_averages,
    with_interval,
)
from anynet_study.analysis.analyses.noise import known_noise
from anynet_study.analysis.analysis import (
    MOST_PANELS,
    Analysis,
    StudyFigure,
    check_known,
    check_room,
)
from anynet_study.analysis.apr.proxies import DIFFERENCE_ENDS
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Resamples that the intervals of regret need.
MOST_RESAMPLES = 2_000
#: A correlation whose whole interval is below this leaves most of the ranking open.
WEAK = 0.5


def match(study: Study) -> pd.DataFrame:
    """Source against closest family member."""
    icc, noise = None, known_noise(study)
    if noise is not None:
        icc = dict(zip(noise["dataset"], noise["icc"], strict=True))
    table = apr.match_family(study.errors, study.roles, **study.weighted, icc=icc)
    for counts in ("classes", "member_classes"):
        table[counts] = table[counts].where(table[counts] > 0)  # those that are known
    return table


def arrange_match(table: pd.DataFrame) -> pd.DataFrame:
    """Class counts beside the names; the average only where it is of several targets.

    A source that is itself closest is called so, and has no difference to itself.
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


def carry_over(rows: pd.DataFrame, source: str) -> str:
    """Does the ranking on the source carry over to the targets? The verdicts, in words."""
    known, verdict = rows["rho_source"].notna(), rows["carries_over"]
    reversed_there = known & (verdict == "no") & (rows["rho_source_high"] < 0)
    parts = [
        (known & (verdict == "yes"), "{subject} carries over to {names}"),
        (
            reversed_there,
            f"{{subject}} is reversed on {{names}}: what is better on {source} is worse there",
        ),
        (
            known & (verdict == "no") & ~reversed_there,
            "{subject} does not carry over to {any_of}: a correlation of "
            f"{wording.number(apr.SMALLEST_CORRELATION)} or more is unlikely there",
        ),
        (
            known & (verdict == "undecided"),
            "it is undecided whether {subject} carries over to {any_of}",
        ),
        (~known, "{subject} cannot be compared with {any_of}: too few, or constant, errors"),
    ]
    subject, said = f"the ranking of the architectures on {source}", []
    for which, text in parts:
        if which.any():
            these = list(rows.loc[which, "target"]), len(rows), "targets"
            sentence = text.format(subject=subject, names=some(*these), any_of=any_of(*these))
            said.append(f"{sentence[0].upper()}{sentence[1:]}.")
            subject = "it"
    return " ".join(said)


def gain(match: pd.DataFrame, source: str) -> list[str]:
    """Is the family member closest in class count a better proxy than the source, on average?"""
    if not (averages := match.attrs["averages"]):
        return []
    [row] = averages
    low, high = row["difference_low"], row["difference_high"]
    if row["difference"] == 0 and low == high == 0:
        return [
            f"In its family, {source} itself is closest in class count to every target, so "
            "matching class counts changes nothing."
        ]
    [verdict] = apr.verdict(low, high, apr.SMALLEST_DIFFERENCE)
    words = {"yes": "raises", "no": "does not raise", "undecided": "may or may not raise"}
    does = "lowers" if high <= -apr.SMALLEST_DIFFERENCE else words[verdict]
    before, after = wording.apart(row["rho_source"], row["rho_member"])
    numbers = (
        f"from {before} to {after}, a difference of {wording.number(row['difference'])} "
        f"{wording.interval(low, high)}"
    )
    return [
        f"Taking the class subset of {source} that is closest in class count to the target, "
        f"instead of {source}, {does} the average correlation with the targets ({numbers})."
    ]


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
        carry_over(table, study.roles.source),
        *(gain(table, study.roles.source) if len(study.roles.family) > 1 else []),
    ],
    topic="The source",
    section="proxies",
    heading="The source, and its class subset closest to each target",
    lead="For each target: how its errors correlate with those on the source, and with those on "
    "the member of the source's family with the nearest number of classes. The difference compares "
    "the two on the same architectures and resamples. The ranking on the source carries over where "
    f"the correlation is shown to be {apr.SMALLEST_CORRELATION} or more, in intervals that hold "
    "for all targets together; it does not where it is shown to be less (where replicates tell "
    "the noise of training: less than that leaves of it); otherwise that is undecided.",
    shown="open",
    expected=True,
)


def proxies(study: Study) -> pd.DataFrame:
    """Every member of the family for every target."""
    return apr.best_proxies(study.errors, study.roles, **study.weighted)


def chosen(table: pd.DataFrame) -> list[str]:
    """Which member correlates most with which targets, where there are several of both."""
    best = table[table["estimate"].notna()].groupby("target", sort=False).first()
    if len(best) < 2:
        return []
    count = len(best), "targets"
    parts = [
        f"{proxy} with {some(list(rows.index), *count)}"
        for proxy, rows in best.groupby("proxy", sort=False)
    ]
    sure = list(best.index[best["best"] == "yes"])
    shown = f"for {some(sure, *count)}" if sure else "for none of them"
    return [
        f"The highest correlations in the family: {'; '.join(parts)}. This is shown to be the best "
        f"choice {shown}."
    ]


def best_proxy(rows: pd.DataFrame) -> str:
    """Which member of the family to use for one target, and how sure that is."""
    target = rows["target"].iloc[0]
    known = rows[rows["estimate"].notna()]
    if known.empty:
        return f"No proxy can be named for {target}: too few or constant errors."
    best, least = known.iloc[0], wording.number(apr.SMALLEST_CORRELATION)
    value = f"{wording.letter(rows)} = {with_interval(best)}"
    [useful] = apr.verdict(best["low"], best["high"], apr.SMALLEST_CORRELATION)
    if useful == "no":
        return f"No proxy for {target} is useful: the best, {best['proxy']}, has {value}."
    if useful == "undecided":
        return (
            f"No proxy for {target} is shown to be useful: the correlation of the best one, "
            f"{best['proxy']}, may be below {least} ({value})."
        )
    use = f"For {target}, use {best['proxy']} ({value})"
    if best["high"] < WEAK:
        use = f"The best proxy for {target}, {best['proxy']}, is a weak one ({value})"
    if len(known) == 1:
        return f"{use}; there is no other to choose from."
    if best["best"] == "yes":
        return f"{use}; it is the best of its family."
    rivals = list(known.loc[known["best"] != "no", "proxy"].iloc[1:])
    return (
        f"{use}; it is undecided whether it is the best of its family: "
        f"{some(rivals, len(known))} may be as good."
    )


def which_proxies(table: pd.DataFrame) -> list[str]:
    """Which member to use; of the source alone, what `carry_over` says is all."""
    if table["proxy"].nunique() < 2:
        return []
    return [*chosen(table), *(best_proxy(rows) for _, rows in table.groupby("target", sort=False))]


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
    topic="Which proxy",
    section="proxies",
    heading="Every member of the family as a proxy",
    lead="All intervals of the table hold together, so they also hold for a member that is chosen "
    "because it looks best. The members that are not marked “no” are the confidence set of the "
    "best (multiple comparisons with the best, on paired differences): any of them can be it.",
    shown="open",
    note="In its best quarter: the correlation over the quarter of the architectures with the "
    "lowest errors on the proxy, with a bootstrap interval (by a formula where they are fewer than "
    "10). It is lower than that over all architectures, as these differ less. Share found: how "
    "many of the best tenth on the target are also in the best tenth on the proxy, with the exact "
    "binomial interval of their share, which is somewhat too wide.",
    expected=True,
)


def found_of_the_best(table: pd.DataFrame | None, source: str) -> list[str]:
    """How many of the architectures that are best on the targets are best on the source."""
    if table is None:
        return []
    rows = table[(table["proxy"] == source) & (table["top"] > 0)]
    if rows.empty:
        return []
    least = rows.loc[rows["overlap"].idxmin()]
    found = {0: "none is", 1: "1 is"}.get(least["shared"], f"{least['shared']} are")
    said = (
        f"Of the {least['top']} architectures that are best on {least['target']}, "
        f"{found} among the {least['top']} best on {source}: a share of "
        f"{with_interval(least, 'overlap')}, where chance gives "
        f"{wording.number(least['by_chance'])}."
    )
    if len(rows) > 1:
        middle = f"{rows['shared'].median():g}"
        said += f" That is the least of {len(rows)} targets; their median is {middle}."
    return [said]


def regret(study: Study) -> pd.DataFrame:
    """What choosing by a proxy costs on the target."""
    how = study.options.intervals
    how["resamples"] = min(how["resamples"], MOST_RESAMPLES)
    roles = study.roles
    noise = known_noise(study)
    known = set() if noise is None else set(noise.loc[noise["icc"] > 0, "dataset"])
    replicates = study.replicates if known & {*roles.targets} else None
    table = apr.selection_regret(study.errors, roles, **how, replicates=replicates)
    # Where there are fewer architectures, none can be the best of so many.
    return table[table["top"].le(table["n"].max()) | table["top"].eq(1)].reset_index(drop=True)


def price(regret: pd.DataFrame, source: str) -> list[str]:
    """What it costs on the targets to take the architecture that is best on the source."""
    rows = regret[(regret["proxy"] == source) & (regret["top"] == 1) & regret["regret"].notna()]
    if rows.empty:
        return []
    worst = rows.loc[rows["regret"].idxmax()]
    most = f" most on {worst['target']}," if len(rows) > 1 else f" on {worst['target']}"
    said = [
        f"Choosing the architecture that is best on {source} is expected to cost{most} "
        f"{with_interval(worst, 'regret')} points of error above the best of {worst['n']:,} "
        f"architectures; choosing one at random costs {wording.number(worst['chance'])}."
    ]
    if len(rows) > 1:
        middle = f"{100 * float(rows['share'].median()):.0f}%"
        said[0] += (
            f" The median over the {len(rows)} targets is {middle} of the cost of a random choice."
        )
    useless = list(rows.loc[~(rows["share_high"] < 1), "target"])
    if useless:
        where = some(useless, len(rows), "targets")
        said.append(f"On {where}, it is undecided whether the choice is better than a random one.")
    return said


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
    needs=("roles",),
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
    say=lambda study, table: [
        *found_of_the_best(study.get("proxies"), study.roles.source),
        *price(table, study.roles.source),
    ],
    topic="The source",
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
    """How well each member of the family stands for each target, and what a run on it takes."""
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
