"""The one order of the runs in a store, whatever the order in which they were journalled."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.catalogue import Catalogue
from anynet_study.store.layout import CODED

#: What a sweep calls a run: dataset, recipe, replicate.
RunNames = tuple[str, str, int]


def run_labels(
    catalogue: Catalogue, population: pa.Table, datasets: pa.Table, recipes: Sequence[str]
) -> dict[str, list[str]]:
    """The texts of every coded column of /runs, in their canonical order."""
    first = {
        "architecture": population["architecture"].to_pylist(),
        "dataset": datasets["dataset"].to_pylist(),
        "recipe": list(recipes),
    }
    labels: dict[str, list[str]] = {}
    for name in CODED:
        known = first.get(name, [])
        if name == "journal":
            labels[name] = [path.name for path in catalogue.paths]
        else:
            others = set(catalogue.records[name].unique().to_pylist()) - set(known)
            labels[name] = [*known, *sorted(others)]
    return labels


def renamed(records: pa.Table, names: Mapping[str, RunNames]) -> pa.Table:
    """Call runs what the sweep calls them now: names are no part of a run's identity."""
    ids = records["run_id"].to_pylist()
    for place, column in enumerate(("dataset", "recipe", "replicate")):
        field = records.schema.field(column)
        values = [
            names[run_id][place] if run_id in names else value
            for run_id, value in zip(ids, records[column].to_pylist(), strict=True)
        ]
        number = records.schema.get_field_index(column)
        records = records.set_column(number, field, pa.array(values, field.type))
    return records


def in_canonical_order(
    runs: pa.Table, labels: Mapping[str, list[str]]
) -> tuple[pa.Table, dict[str, NDArray[np.int32]]]:
    """The runs in the order of the store, and their coded columns."""
    codes = {name: _codes(runs[name], labels[name]) for name in CODED if name != "journal"}
    codes["journal"] = runs["journal"].to_numpy()
    keys = (
        runs["run_id"].to_numpy().astype(str),
        runs["replicate"].to_numpy(),
        codes["recipe"],
        codes["dataset"],
        codes["architecture"],
    )
    order = np.lexsort(keys)
    return runs.take(order), {name: values[order] for name, values in codes.items()}


def _codes(values: pa.ChunkedArray, labels: list[str]) -> NDArray[np.int32]:
    return np.asarray(pc.index_in(values, value_set=pa.array(labels, pa.string())), np.int32)
