"""How soon in training the ranking of the end is there (paper 1, section 6.1.2, Figure A2)."""

import numpy as np
import pandas as pd

from anynet_study.apr.correlations import correlate_pairs
from anynet_study.apr.kernels import Method
from anynet_study.apr.long_tables import check_long
from anynet_study.apr.pairs import pairwise
from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError

RESULT = ["dataset", "epoch", "epochs", "share", "estimate", "low", "high", "n"]


def duration(
    curves: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 1_000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Correlation of the errors after every epoch with those after the last, for each dataset.

    `curves` is long: dataset, architecture, epoch (from 1), error (percent; NaN is left out), a row
    a run and epoch. Returns DataFrame[dataset, epoch, epochs, share, estimate, low, high, n]:
    `epochs` is the dataset's last and `share` the part of the training that is over; n counts the
    architectures with an error after the epoch and after the last. NaN where n < 4 or all err
    alike. Estimates are of the errors as measured: training noise is in both, and makes the errors
    of neighbouring epochs of one run agree more than those of two runs would.
    """
    runs = check_long(curves, ["dataset", "architecture", "epoch"], "curves")
    parts = [pd.DataFrame(columns=RESULT)] if runs.empty else []
    for dataset, part in runs.groupby("dataset", sort=False):
        wide = part.pivot(index="architecture", columns="epoch", values="error")
        values = check_errors(wide, fewest=0).to_numpy()
        last = values.shape[1] - 1
        pairs = pairwise(values, [(epoch, last) for epoch in range(last + 1)])
        table = correlate_pairs(values, pairs, method, resamples, seed, level)
        epochs = wide.columns.to_numpy()
        row = {"dataset": dataset, "epoch": epochs, "epochs": epochs[-1]}
        parts.append(table.assign(**row, share=epochs / epochs[-1]))
    return pd.concat(parts)[RESULT].reset_index(drop=True)


def cheapest_budget(table: pd.DataFrame, keep: float = 0.95) -> pd.DataFrame:
    """The fewest epochs that keep the ranking: from there on it correlates at least `keep`.

    `table` is a result of `duration`. Returns DataFrame[dataset, keep, epoch, epochs, share,
    estimate, low, high, epoch_sure, n]: `epoch` is the first after which every estimate up to the
    last epoch is at least `keep`, with the estimate there and its interval; `epoch_sure` the first
    after which every lower end is; at the latest it is the last.
    """
    if not 0 < keep <= 1:
        raise UserError(f"keep: {keep} is not a correlation above 0, at most 1")
    rows = []
    for dataset, part in table.groupby("dataset", sort=False):
        rising = part.sort_values("epoch").reset_index(drop=True)
        first = _from_where(rising["estimate"] >= keep - 1e-12)
        sure = _from_where(rising["low"] >= keep - 1e-12)
        found = rising.iloc[first]
        row = found[["epoch", "epochs", "share", "estimate", "low", "high"]].to_dict()
        rows.append(
            {"dataset": dataset, "keep": keep, **row}
            | {"epoch_sure": rising["epoch"].iloc[sure], "n": found["n"]}
        )
    return pd.DataFrame(rows)


def _from_where(held: pd.Series) -> int:
    """First position from which all hold up to the end; the last one at the latest."""
    failed = np.flatnonzero(~held.to_numpy()[:-1])
    return int(failed[-1]) + 1 if len(failed) else 0
