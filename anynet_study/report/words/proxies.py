"""Which dataset to use for which target, how sure that is, and what it costs."""

import math

import pandas as pd

from anynet_study.plots import wording
from anynet_study.report.words.phrases import listed, percent, some

SURE = 0.95
LIKELY = 0.8
#: A correlation whose whole interval is below this leaves most of the ranking open.
WEAK = 0.5


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


def price(regret: pd.DataFrame, source: str) -> list[str]:
    """What it costs on the targets to take the architecture that is best on the source."""
    rows = regret[(regret["proxy"] == source) & (regret["top"] == 1) & regret["regret"].notna()]
    if rows.empty:
        return []
    worst = rows.loc[rows["regret"].idxmax()]
    most = f" most on {worst['target']}," if len(rows) > 1 else f" on {worst['target']}"
    chance = worst["random"] - worst["oracle"]
    said = [
        f"Taking the one architecture that is best on {source} costs{most} "
        f"{wording.number(worst['regret'])} {_range(worst, 'regret')} points of error more than "
        f"the best one there; taking one at random costs {wording.number(chance)}."
    ]
    if len(rows) > 1:
        middle = wording.number(float(rows["regret"].median()))
        said[0] += f" The median over the {len(rows)} targets is {middle} points."
    useless = list(rows.loc[rows["gain"] <= 0, "target"])
    if useless:
        said.append(f"On {some(useless, len(rows))} that is no better than taking one at random.")
    return said


def _range(row: pd.Series, name: str) -> str:
    """The interval of a number; nothing where there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return wording.interval(low, high) if pd.notna(low) else "(no interval)"


def narrower(sizes: pd.DataFrame) -> list[str]:
    """How many architectures the widest of the intervals with the source would need."""
    known = sizes.dropna(subset=["width", "for_half"])
    if known.empty:
        return []
    row = known.loc[known["width"].idxmax()]
    return [
        f"The widest interval, of {row['source']} with {row['target']}, spans "
        f"{wording.number(row['width'])} with {row['n']:,} architectures: about "
        f"{row['for_half']:,} would halve it, and {row['for_a_tenth']:,} make it 0.1."
    ]
