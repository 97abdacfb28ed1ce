"""The parts of a results store that do not depend on where its runs come from."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.attributes import fixed_texts, set_text
from anynet_study.store.columns import create_numbers, write_numbers, write_text
from anynet_study.store.layout import CODED, FORMAT, LAYOUT, SCHEMA_VERSION, prediction_group


def write_root(file: h5py.File, provenance: Mapping[str, str], planned_runs: int) -> None:
    """Write the attributes of the root, and /provenance; `planned_runs` -1: not said."""
    set_text(file, "format", FORMAT)
    file.attrs["schema_version"] = SCHEMA_VERSION
    set_text(file, "created", datetime.now(UTC).isoformat(timespec="seconds"))
    file.attrs["planned_runs"] = planned_runs
    set_text(file, "layout", LAYOUT)
    file["provenance"] = fixed_texts(json.dumps(dict(provenance), indent=1))


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


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where each of some pieces begins when they lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def create_predictions(
    file: h5py.File, dataset: NDArray[np.int32], labels: list[str], images: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Create the groups of /predictions; the row of each run in its dataset's array."""
    file.create_group("predictions")
    places = np.zeros(len(images), np.int64)
    for code, label in enumerate(labels):
        runs = np.flatnonzero((dataset == code) & (images > 0))
        if runs.size:
            places[runs] = np.arange(runs.size)
            group = file.create_group(prediction_group(label))
            set_text(group, "dataset", label)
            set_text(group, "kind", "class")
            write_numbers(group, "run", runs)
            shape = (runs.size, int(images[runs].max()))
            create_numbers(group, "classes", shape, np.uint16)
    return places
