"""The one order of the runs in a store, whatever the order in which they were journalled."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.layout import CODED

#: What a sweep calls a run: dataset, recipe, replicate.
RunNames = tuple[str, str, int]


def run_labels(
    runs: pa.Table,
    journals: Sequence[str],
    population: pa.Table,
    datasets: pa.Table,
    recipes: Sequence[str],
) -> dict[str, list[str]]:
    """The texts of every coded column of /runs, in their canonical order.

    `runs` as the sweep calls them, `journals` the names that their column `journal` numbers.
    """
    first = {
        "architecture": population["architecture"].to_pylist(),
        "dataset": datasets["dataset"].to_pylist(),
        "recipe": list(recipes),
    }
    labels: dict[str, list[str]] = {}
    for name in CODED:
        known = first.get(name, [])
        if name == "journal":
            labels[name] = list(journals)
        else:
            others = set(runs[name].unique().to_pylist()) - set(known)
            labels[name] = [*known, *sorted(others)]
    return labels


def renamed(records: pa.Table, names: Mapping[str, RunNames]) -> pa.Table:
    """Call runs what the sweep calls them now: names are no part of a run's identity."""
    known = pc.index_in(records["run_id"], value_set=pa.array(names, pa.string()))
    now = list(zip(*names.values(), strict=True)) or [(), (), ()]
    for column, values in zip(("dataset", "recipe", "replicate"), now, strict=True):
        field = records.schema.field(column)
        plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        called = pa.chunked_array([pa.array(values, plain)]).take(known)
        columns = pc.coalesce(called, records[column].cast(plain))
        if plain != field.type:
            columns = columns.dictionary_encode()
        number = records.schema.get_field_index(column)
        records = records.set_column(number, field, columns)
    return records


def canonical_order(
    runs: pa.Table, labels: Mapping[str, list[str]]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int32]]]:
    """The order of the runs in the store, and their coded columns in it."""
    codes = {name: codes_of(runs[name], labels[name]) for name in CODED if name != "journal"}
    codes["journal"] = runs["journal"].to_numpy()
    keys = {name: codes[name] for name in ("architecture", "dataset", "recipe")}
    sorting = pa.table(keys | {"replicate": runs["replicate"], "run_id": runs["run_id"]})
    order = pc.sort_indices(sorting, [(name, "ascending") for name in sorting.column_names])
    places = order.to_numpy().astype(np.int64)
    return places, {name: values[places] for name, values in codes.items()}


def codes_of(values: pa.ChunkedArray, labels: Sequence[str]) -> NDArray[np.int32]:
    """Places in `labels` of the texts of a dictionary column."""
    texts = values.combine_chunks()
    places = pc.index_in(texts.dictionary, value_set=pa.array(labels, pa.string()))
    return np.asarray(places.take(texts.indices), np.int32)


def among(
    ids: pa.Array | pa.ChunkedArray, wanted: Collection[str] | pa.Array | pa.ChunkedArray
) -> NDArray[np.bool_]:
    """Whether each id is one of some."""
    if isinstance(wanted, pa.ChunkedArray):
        wanted = wanted.combine_chunks()
    values = wanted if isinstance(wanted, pa.Array) else pa.array(wanted, pa.string())
    return np.asarray(pc.is_in(ids, value_set=values), np.bool_)
