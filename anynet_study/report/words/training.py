"""How long and how to train."""

import pandas as pd

from anynet_study.plots import wording
from anynet_study.report.words.phrases import listed, some


def shortest(budget: pd.DataFrame) -> list[str]:
    """How much of the training keeps the final ranking."""
    known = budget.dropna(subset="estimate")
    if known.empty:
        return []
    longest = known.loc[known["share"].idxmax()]
    keep = wording.number(longest["keep"])
    most = "" if len(known) == 1 else f" on all {len(known)} datasets"
    if longest["epoch"] == longest["epochs"]:
        late = list(known.loc[known["epoch"] == known["epochs"], "dataset"])
        return [
            f"On {some(late, len(known))} no shorter training ranks the architectures as the whole "
            f"does (ρ ≥ {keep})."
        ]
    return [
        f"After {100 * longest['share']:.0f}% of the training the ranking is that of its end{most} "
        f"(ρ ≥ {keep} from there on; on {longest['dataset']}, where it takes longest, epoch "
        f"{longest['epoch']} of {longest['epochs']}; surely from epoch {longest['epoch_sure']})."
    ]


def other_recipes(recipes: pd.DataFrame) -> list[str]:
    """Does the ranking depend on the recipe?"""
    said = []
    for name, rows in recipes.groupby("recipe", sort=False):
        known = rows.dropna(subset="estimate")
        if known.empty:
            continue
        least = known.loc[known["estimate"].idxmin()]
        value = (
            f"{wording.number(least['estimate'])} {wording.interval(least['low'], least['high'])}"
        )
        better = list(known.loc[known["change_high"] < 0, "dataset"])
        gains = f"; it errs less on {listed(better)}" if better else ""
        said.append(
            f"Under the recipe {name} the ranking agrees least with the main one's on "
            f"{least['dataset']} (ρ = {value}){gains}."
        )
    return said
