"""Single columns of /runs, coded text decoded."""

from itertools import pairwise
from typing import Any

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.columns import read_column
from anynet_study.store.layout import CODED


def run_column(file: h5py.File, name: str, rows: slice = slice(None)) -> Any:
    """One value a run (or of these rows), in the order of the store."""
    if name == "spec":
        text = file["specs/text"][()].tobytes()
        parts = pairwise(file["specs/offsets"][()])
        return np.array([text[start:stop].decode() for start, stop in parts], object)[rows]
    values = read_column(file["runs"], name, rows)
    if name in CODED:
        return pd.Index(read_column(file["labels"], name)).take(values)
    return values.astype(bool) if name == "planned" else values


def runs_with(file: h5py.File, name: str, value: str) -> NDArray[np.bool_]:
    """Which runs have this text in a coded column or run_id. Raises UserError if none can."""
    if name not in CODED:
        return np.asarray(file["runs"][name][()] == value.encode())
    labels = list(read_column(file["labels"], name))
    if value not in labels:
        raise UserError(f"{file.filename}: no {name} {value}")
    return np.asarray(file["runs"][name][()] == labels.index(value))
