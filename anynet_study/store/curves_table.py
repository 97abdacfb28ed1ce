"""Curves of selected runs as a long table."""

from collections.abc import Mapping, Sequence

import h5py
import numpy as np
import pandas as pd

from anynet_study.errors import UserError
from anynet_study.store.record import CURVES
from anynet_study.store.run_columns import run_column, runs_with

_RUN = ("run_id", "architecture", "dataset", "recipe", "replicate")


def curve_table(
    file: h5py.File, wanted: Mapping[str, str | None], metrics: Sequence[str]
) -> pd.DataFrame:
    """One row an epoch of the runs that have these texts in these columns (None: any)."""
    if unknown := set(metrics) - set(CURVES):
        raise UserError(f"no curve {min(unknown)!r}; legal: {', '.join(CURVES)}")
    keep = np.ones(len(file["runs/run_id"]), bool)
    for name, value in wanted.items():
        if value is not None:
            keep &= runs_with(file, name, value)
    rows = np.flatnonzero(keep)
    span = slice(rows[0], rows[-1] + 1) if rows.size else slice(0, 0)
    offsets = file["curves/offsets"][span.start : span.stop + 1]
    epochs = np.diff(offsets)[rows - span.start]
    run = np.repeat(rows - span.start, epochs)
    epoch = np.arange(len(run)) - np.repeat(np.cumsum(epochs) - epochs, epochs)
    table = {name: run_column(file, name, span)[run] for name in _RUN}
    table["epoch"] = epoch + 1
    place = offsets[run] - offsets[0] + epoch
    for name in metrics:
        table[name] = file["curves"][name][offsets[0] : offsets[-1]][place]
    return pd.DataFrame(table)
