"""Parts of a store put together: one order of runs, each run once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.importing.part import RUNS, Part
from anynet_study.store.layout import CODED


@dataclass(frozen=True)
class Merged:
    """The runs of all parts in the order of the store."""

    #: Columns of RUNS, but for the coded ones: those are in `codes`, indices into `labels`.
    runs: pa.Table
    codes: dict[str, NDArray[np.int32]]
    labels: dict[str, list[str]]
    #: Where each run is from: number of the part, and its row there.
    part: NDArray[np.int32]
    row: NDArray[np.int64]


def merge(parts: Sequence[Part], architectures: Sequence[str], datasets: Sequence[str]) -> Merged:
    """Order the runs as `store.order` does. Raises UserError where a run is in two parts."""
    tables = [part.runs.select(RUNS.names).cast(RUNS) for part in parts]
    runs = pa.concat_tables(tables)
    labels = _labels(parts, runs, architectures, datasets)
    codes = {name: _codes(runs[name], labels[name]) for name in CODED}
    part = np.repeat(np.arange(len(parts), dtype=np.int32), [len(table) for table in tables])
    row = np.concatenate([np.arange(len(table), dtype=np.int64) for table in tables])
    keys = [codes[name] for name in ("recipe", "dataset", "architecture")]
    numbers = [runs["replicate"].to_numpy(), *keys]
    ids = _ids(runs["run_id"])
    order = np.lexsort((ids, *numbers))
    merged = Merged(
        runs.drop_columns(list(CODED)).take(pa.array(order)),
        {name: code[order] for name, code in codes.items()},
        labels,
        part[order],
        row[order],
    )
    _refuse_repeats(
        merged, ids[order], [column[order] for column in numbers], [each.name for each in parts]
    )
    return merged


def _labels(
    parts: Sequence[Part], runs: pa.Table, architectures: Sequence[str], datasets: Sequence[str]
) -> dict[str, list[str]]:
    journals = [name for part in parts for name in part.journals["journal"].to_pylist()]
    first = {"architecture": architectures, "dataset": datasets, "journal": journals}
    labels = {}
    for name in CODED:
        used = dict.fromkeys(
            text for chunk in runs[name].chunks for text in chunk.dictionary.to_pylist()
        )
        known = list(first.get(name, used if name == "recipe" else ()))
        labels[name] = list(dict.fromkeys([*known, *sorted(set(used) - set(known))]))
    return labels


def _codes(column: pa.ChunkedArray, labels: list[str]) -> NDArray[np.int32]:
    values = pa.array(labels, pa.string())
    parts = [
        np.asarray(pc.index_in(chunk.dictionary, value_set=values), np.int32)[
            np.asarray(chunk.indices)
        ]
        for chunk in column.chunks
        if len(chunk)
    ]
    return np.concatenate([np.empty(0, np.int32), *parts])


def _ids(column: pa.ChunkedArray) -> NDArray[np.bytes_]:
    """Texts as NumPy's of one length, without a Python object for each."""
    width = pc.max(pc.binary_length(column)).as_py() or 1
    fixed = pc.ascii_rpad(column, width, "\0").cast(pa.binary(width)).combine_chunks()
    bare = fixed if isinstance(fixed, pa.Array) else pa.concat_arrays(fixed.chunks)
    return np.frombuffer(bare.buffers()[1], f"S{width}", len(bare))


def _refuse_repeats(
    merged: Merged,
    ids: NDArray[np.bytes_],
    keys: list[NDArray[np.int32]],
    names: list[str],
) -> None:
    """The same cell in two parts, among runs that are analysed; or the same run_id."""
    planned = merged.runs["planned"].to_numpy().astype(bool)
    same = planned[1:] & planned[:-1]
    for key in keys:
        same &= key[1:] == key[:-1]
    twins = np.flatnonzero(same)
    if not twins.size:
        order = np.argsort(ids, kind="stable")
        alike = np.flatnonzero(ids[order][1:] == ids[order][:-1])
        if not alike.size:
            return
        first, second = order[alike[0]], order[alike[0] + 1]
    else:
        first, second = twins[0], twins[0] + 1
    model = merged.labels["architecture"][merged.codes["architecture"][first]]
    dataset = merged.labels["dataset"][merged.codes["dataset"][first]]
    files = dict.fromkeys(names[merged.part[place]] for place in (first, second))
    raise UserError(f"{model} on {dataset} is there twice, in {' and in '.join(files)}")


def metrics(merged: Merged) -> dict[str, str]:
    """The metric of every dataset's runs. Raises UserError where they differ."""
    found: dict[str, str] = {}
    pairs = np.unique(np.stack([merged.codes["dataset"], merged.codes["metric"]]), axis=1)
    for dataset, metric in pairs.T.tolist():
        name, said = merged.labels["dataset"][dataset], merged.labels["metric"][metric]
        if found.setdefault(name, said) != said:
            raise UserError(f"dataset {name}: some errors are on {found[name]}, some on {said}")
    return found
