"""What a study found, in sentences: each with its interval and number of architectures.

A ranking *carries over* where the interval of the correlation lies above 0, is *reversed* where it
lies below, and is *undecided* where it includes 0.
"""

import math
from collections.abc import Sequence

import pandas as pd

from anynet_study.plots import wording
from anynet_study.report.analyses.kind import effective_in, roles_in
from anynet_study.report.analysis import Analysis

SURE = 0.95
LIKELY = 0.8
#: A correlation whose whole interval is below this leaves most of the ranking open.
WEAK = 0.5
#: Up to this many datasets are named, more are counted.
NAMED = 6
#: Fewer architectures than this give intervals too wide for more than a first impression.
FEW = 50


def findings(analysis: Analysis) -> list[str]:
    """The answer, most important sentence first."""
    sentences = []
    match, proxies = analysis.get("match"), analysis.get("proxies")
    drivers, ceiling = analysis.get("drivers"), analysis.get("noise")
    if match is not None:
        source = roles_in(analysis.tables).source
        sentences += [carry_over(match, source), *gain(match, source)]
    if proxies is not None:
        sentences += [best_proxy(rows) for _, rows in proxies.groupby("target", sort=False)]
    if drivers is not None:
        sentences += driver_flips(drivers)
    if ceiling is not None:
        sentences += noise(ceiling)
    return sentences + caution(analysis)


def carry_over(match: pd.DataFrame, source: str) -> str:
    """Does the ranking on the source carry over to the targets?"""
    rows = match[match["target"] != "average"]
    kept = list(rows.loc[rows["rho_source_low"] > 0, "target"])
    turned = list(rows.loc[rows["rho_source_high"] < 0, "target"])
    known = list(rows.loc[rows["rho_source"].notna(), "target"])
    open_ = [name for name in known if name not in kept + turned]
    unknown = [name for name in rows["target"] if name not in known]
    parts = [
        (kept, "{it} carries over to {names}"),
        (turned, f"{{it}} is reversed on {{names}}: what is better on {source} is worse there"),
        (open_, "whether {it} carries over to {names} is undecided (the interval includes 0)"),
        (unknown, "{it} cannot be compared with {names}: too few, or constant, errors"),
    ]
    subject, said = f"the ranking of the architectures on {source}", []
    for names, text in parts:
        if names:
            sentence = text.format(it=subject, names=listed(names))
            said.append(f"{sentence[0].upper()}{sentence[1:]}.")
            subject = "it"
    return " ".join(said)


def gain(match: pd.DataFrame, source: str) -> list[str]:
    """Is the family member closest in class count a better proxy than the source, on average?"""
    rows = match[match["target"] == "average"]
    if rows.empty or not math.isfinite(rows["difference"].iloc[0]):
        return []
    row = rows.iloc[0]
    low, high = row["difference_low"], row["difference_high"]
    if row["difference"] == 0 and low == high == 0:
        return [
            f"Of its family {source} itself is closest in class count to every target, so that "
            "matching class counts changes nothing."
        ]
    sure = "raises" if low > 0 else "lowers" if high < 0 else "does not clearly change"
    numbers = (
        f"from {wording.number(row['rho_source'])} to {wording.number(row['rho_member'])}, a "
        f"difference of {wording.number(row['difference'])} {wording.interval(low, high)}"
    )
    return [
        f"Taking the class subset of {source} that is closest in class count to the target, "
        f"instead of {source}, {sure} the average correlation with the targets ({numbers})."
    ]


def best_proxy(rows: pd.DataFrame) -> str:
    """Which member of the family to use for one target, and how sure that is."""
    target = rows["target"].iloc[0]
    known = rows[rows["estimate"].notna()]
    if known.empty:
        return f"For {target} no proxy can be named: too few or constant errors."
    best = known.iloc[0]
    value = f"ρ = {wording.number(best['estimate'])} {wording.interval(best['low'], best['high'])}"
    chance = best["probability_best"]
    if best["high"] < 0:
        return f"For {target} no member is a useful proxy: the best, {best['proxy']}, has {value}."
    if best["low"] <= 0:
        return (
            f"For {target} no member is a proven proxy: the best, {best['proxy']}, has {value}, "
            "which includes 0."
        )
    use = f"For {target} use {best['proxy']} ({value})"
    if best["high"] < WEAK:
        use = f"For {target} the best proxy, {best['proxy']}, is a weak one ({value})"
    if chance >= LIKELY:
        how = "clearly" if chance >= SURE else "probably"
        return f"{use}; it is {how} the best of its family ({percent(chance)})."
    rival = known.sort_values("probability_best", ascending=False, kind="stable")
    rival = rival[rival["proxy"] != best["proxy"]].iloc[0]
    return (
        f"{use}; that it is the best of its family is not settled "
        f"({percent(chance)}, {rival['proxy']} in {100 * rival['probability_best']:.0f}%)."
    )


def driver_flips(drivers: pd.DataFrame) -> list[str]:
    """Where deeper or wider architectures are better on some datasets and worse on others."""
    sentences, idle = [], []
    for parameter, rows in drivers.groupby("parameter", sort=False):
        worse = list(rows.loc[rows["low"] > 0, "dataset"])
        better = list(rows.loc[rows["high"] < 0, "dataset"])
        effects = [(better, "lower"), (worse, "higher")]
        total = len(rows)
        said = [f"{effect} errors on {some(names, total)}" for names, effect in effects if names]
        if said:
            sentences.append(f"More {parameter} goes with {', but with '.join(said)}.")
        else:
            idle.append(str(parameter))
    if idle:
        neither = " or ".join(idle)
        sentences.append(f"On no dataset do the errors clearly rise or fall with {neither}.")
    return sentences


def noise(ceiling: pd.DataFrame) -> list[str]:
    """Where training noise alone keeps correlations low."""
    known = ceiling[ceiling["icc"].notna()]
    unclear = list(known.loc[known["icc_low"] <= 0, "dataset"])
    clear = known[known["icc_low"] > 0].sort_values("ceiling", kind="stable")
    sentences = []
    if len(clear):
        lowest, most = clear.iloc[0], "most on" if len(clear) > 1 else "on"
        sentences.append(
            f"Training noise bounds what any proxy can reach: {most} {lowest['dataset']}, where "
            "a single run cannot be expected to correlate beyond "
            f"{wording.number(lowest['ceiling'])} even with a perfect partner."
        )
    if unclear:
        sentences.append(
            f"On {some(unclear, len(ceiling))} the replicates do not show that architectures "
            "differ by more than training noise (the interval of the ICC includes 0): a low "
            "correlation there may be noise, and more replicates would tell."
        )
    return sentences


def caution(analysis: Analysis) -> list[str]:
    """Say when the population is too small to trust."""
    count = int(analysis.tables.errors.notna().any(axis=1).sum())
    effective = effective_in(analysis.tables)
    if min(count, effective or count) >= FEW:
        return []
    weighted = f", of unequal weights and as good as {effective:.0f}," if effective else ""
    return [
        f"With {count} architectures{weighted} the intervals are wide: read this as a first "
        "impression. Four times as many architectures would halve them."
    ]


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def some(names: Sequence[str], total: int) -> str:
    """Name a few datasets, count many."""
    if len(names) == total > 1:
        return f"all {total} datasets"
    return listed(names) if len(names) <= NAMED else f"{len(names)} of {total} datasets"


def percent(share: float) -> str:
    """A probability for people; never a certainty that resamples cannot give."""
    if share > 0.999:
        return "in more than 99.9% of resamples"
    return f"in {100 * share:.0f}% of resamples"
