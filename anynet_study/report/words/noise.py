"""How far training noise blurs the rankings."""

import pandas as pd

from anynet_study.plots import wording
from anynet_study.report.words.phrases import some


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
