"""What of an architecture drives its errors, and where that flips."""

import pandas as pd

from anynet_study.report.words.phrases import listed, some


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


def stage_flips(stages: pd.DataFrame) -> list[str]:
    """Parameters that clearly help on one dataset and clearly hurt on another."""
    said = []
    for column, how in (("flips", ""), ("partial_flips", " at equal FLOPs and parameters")):
        flips = set(stages.loc[stages[column].astype(bool), "parameter"])
        flipping = [name for name in dict.fromkeys(stages["parameter"]) if name in flips]
        if flipping:
            said.append(
                f"What helps on one dataset and hurts on another{how}: {listed(flipping)} "
                "(d depth, w width, b bottleneck ratio, g group width of a stage; corrected for "
                "the number of tests)."
            )
    return said
