"""What further test sets say."""

import pandas as pd

from anynet_study.plots import wording
from anynet_study.report.words.phrases import listed


def shifted(shifts: pd.DataFrame, agreement: pd.DataFrame | None) -> list[str]:
    """How much is lost on each further test set, and whether the ranking holds there."""
    said = []
    lines = shifts[(shifts["scale"] == "linear") & shifts["slope"].notna()]
    for row in lines.to_dict("records"):
        dataset, name = row["dataset"], row["test_set"]
        ends = wording.interval(row["slope_low"], row["slope_high"])
        slope = f"{wording.number(row['slope'])} {ends}"
        change = "lose" if row["drop"] > 0 else "gain"
        sentence = (
            f"On {name}, networks trained on {dataset} {change} {wording.number(abs(row['drop']))} "
            f"points of accuracy on average; a point more on their own test set goes with {slope} "
            "points there"
        )
        found = _agreement(agreement, dataset, name)
        said.append(f"{sentence}{found}.")
    return said


def _agreement(agreement: pd.DataFrame | None, dataset: str, name: str) -> str:
    if agreement is None:
        return ""
    rows = agreement[(agreement["dataset"] == dataset) & (agreement["evaluation"] == name)]
    if rows.empty or pd.isna(rows["estimate"].iloc[0]):
        return ""
    row = rows.iloc[0]
    value = f"ρ = {wording.number(row['estimate'])} {wording.interval(row['low'], row['high'])}"
    holds = "holds" if row["low"] > 0 else "may not hold"
    return f", and the ranking {holds} ({value})"


def told_apart(significance: pd.DataFrame) -> list[str]:
    """Whether the test images tell the best architectures apart."""
    open_ = []
    for dataset, rows in significance.groupby("dataset", sort=False):
        best = rows["a"].iloc[0]
        if not (rows.loc[rows["a"] == best, "p_holm"] < 0.05).any():
            open_.append(str(dataset))
    if not open_:
        return []
    return [
        f"On {listed(open_)} the test images do not tell the best architecture from any of the "
        "nine next ones (McNemar's test, corrected)."
    ]
