"""The parts of a results store that do not depend on where its runs come from."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.columns import TEXT, write_numbers, write_text
from anynet_study.store.layout import CODED, FORMAT, LAYOUT, SCHEMA_VERSION


def write_root(file: h5py.File, provenance: Mapping[str, str], planned_runs: int) -> None:
    """Write the attributes of the root, and /provenance; `planned_runs` -1: not said."""
    file.attrs["format"] = FORMAT
    file.attrs["schema_version"] = SCHEMA_VERSION
    file.attrs["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    file.attrs["planned_runs"] = planned_runs
    file.attrs["layout"] = LAYOUT
    file.create_dataset("provenance", data=json.dumps(dict(provenance), indent=1), dtype=TEXT)


def write_runs(
    file: h5py.File,
    runs: pa.Table,
    codes: Mapping[str, NDArray[np.int32]],
    labels: Mapping[str, list[str]],
    asked: NDArray[np.bool_],
) -> None:
    """Write /runs and /labels; `codes` are each run's indices into `labels`, `asked` `planned`."""
    group = file.create_group("runs")
    texts = file.create_group("labels")
    ids = np.array(runs["run_id"].to_pylist(), dtype="S")
    group.create_dataset("run_id", data=ids)
    for name in CODED:
        write_numbers(group, name, codes[name])
        write_text(texts, name, labels[name])
    for name in ("replicate", "error", "epochs", "images", "seconds", "started"):
        write_numbers(group, name, runs[name].to_numpy())
    write_numbers(group, "planned", asked.astype(np.uint8))
