"""Evaluations to HDF5: the group /evaluations (`store.layout`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.store.attributes import set_text
from anynet_study.store.columns import create_numbers, write_numbers, write_text
from anynet_study.store.evaluations.catalogue import NUMBERS, Kept
from anynet_study.store.heavy import blocks_of, padded
from anynet_study.store.layout import EVALUATION_CODED, evaluation_group
from anynet_study.store.order import among, codes_of
from anynet_study.store.ragged import places_of
from anynet_study.store.remembered import write_names
from anynet_study.store.sources import Rows, Source
from anynet_study.store.writing import offsets_of

#: Bytes of a record without its predictions, in round numbers.
RECORD_BYTES = 1500
#: Columns of /evaluations that are integers into /labels.
CODED = (*EVALUATION_CODED, "host", "journal")


@dataclass(frozen=True)
class Ordered:
    """Evaluations in the order of the store."""

    #: The columns of `catalogue.SCHEMA`, called what the journals call them.
    table: pa.Table
    #: Row in what they were taken from and, of its run, in /runs.
    row: Rows
    run: Rows
    #: Integers into the labels.
    codes: dict[str, NDArray[np.int32]]
    planned: NDArray[np.bool_]


def evaluation_labels(kept: Kept, names: Mapping[str, str] | None) -> dict[str, list[str]]:
    """The texts of EVALUATION_CODED: names in the order of the sweep, others as they began."""
    place = ("offset", "journal", "started")
    began = np.lexsort([kept.table[name].to_numpy() for name in place])
    seen = _called(kept.table, names).take(began).unique().to_pylist()
    labels = {"evaluation": list(dict.fromkeys([*(names or {}).values(), *seen]))}
    for name in EVALUATION_CODED[1:]:
        labels[name] = sorted(kept.table[name].unique().to_pylist())
    return labels


def ordered(
    kept: Kept,
    names: Mapping[str, str] | None,
    labels: Mapping[str, Sequence[str]],
    asked: NDArray[np.bool_],
    first_journal: int,
) -> Ordered:
    """The evaluations of a sweep, in order.

    `asked`: which runs the sweep asks for; `first_journal`: number in /labels/journal of the first
    journal of evaluations.
    """
    called = {name: kept.table[name] for name in (*EVALUATION_CODED, "host")}
    called["evaluation"] = _called(kept.table, names).dictionary_encode()
    codes = {name: codes_of(values, labels[name]) for name, values in called.items()}
    codes["journal"] = kept.table["journal"].to_numpy() + np.int32(first_journal)
    planned = asked[kept.run]
    if names is not None:
        planned &= among(kept.table["evaluation_id"].cast(pa.string()), names)
    return in_order(Ordered(kept.table, kept.row, kept.run, codes, planned))


def in_order(found: Ordered) -> Ordered:
    """By run, name and id."""
    codes = found.codes
    order = np.lexsort((codes["evaluation_id"], codes["evaluation"], found.run))
    return Ordered(
        found.table.take(order),
        found.row[order],
        found.run[order],
        {name: values[order] for name, values in codes.items()},
        found.planned[order],
    )


def _called(table: pa.Table, names: Mapping[str, str] | None) -> pa.ChunkedArray:
    """What the sweep calls each evaluation now: its name is no part of its identity."""
    then = table["evaluation"].cast(pa.string())
    if not names:
        return then
    ids = pa.array(names, pa.string())
    place = pc.index_in(table["evaluation_id"].cast(pa.string()), value_set=ids)
    return pc.coalesce(
        pa.chunked_array([pa.array(list(names.values()), pa.string())]).take(place), then
    )


def write_evaluations(file: h5py.File, found: Ordered, labels: Mapping[str, list[str]]) -> None:
    """Write /evaluations but for the predictions."""
    for name in EVALUATION_CODED:
        write_text(file["labels"], name, labels[name])
    group = file.create_group("evaluations")
    write_numbers(group, "run", found.run.astype(np.int32))
    for name in CODED:
        write_numbers(group, name, found.codes[name])
    for name in (*NUMBERS, "predicted"):
        write_numbers(group, name, found.table[name].to_numpy())
    write_numbers(group, "planned", found.planned.astype(np.uint8))


def remember_evaluations(file: h5py.File, found: Ordered) -> None:
    """Write what the next collect wants to know of them."""
    group = file.create_group("collected/evaluations")
    for name in ("offset", "end"):
        write_numbers(group, name, found.table[name].to_numpy())
    write_names(group, "evaluation", found.table["evaluation"])


def write_predictions(
    file: h5py.File,
    found: Ordered,
    dataset: NDArray[np.int32],
    labels: Mapping[str, Sequence[str]],
    source: Source,
) -> None:
    """Write /evaluations/predictions; `dataset` of every run, as an index into its labels."""
    file["evaluations"].create_group("predictions")
    images = found.table["predicted"].to_numpy().astype(np.int64)
    rows = np.flatnonzero(images)
    pair = dataset[found.run] * np.int64(len(labels["evaluation"])) + found.codes["evaluation"]
    groups, lines = {}, np.zeros(len(pair), np.int64)
    for code in np.unique(pair[rows]).tolist():
        names = divmod(code, len(labels["evaluation"]))
        mine = rows[pair[rows] == code]
        lines[mine] = np.arange(len(mine))
        groups[code] = _group(
            file, labels["dataset"][names[0]], labels["evaluation"][names[1]], mine, images
        )
    for block in blocks_of(RECORD_BYTES + 2 * images[rows]):
        mine = rows[block]
        values, begin = source.arrays(mine)["predictions"], offsets_of(images[mine])[:-1]
        for code in np.unique(pair[mine]).tolist():
            here = np.flatnonzero(pair[mine] == code)
            target, lengths = groups[code], images[mine[here]]
            first = lines[mine[here[0]]]
            lines_of = values[places_of(begin[here], lengths)]
            target[first : first + len(here)] = padded(lines_of, lengths, target.shape[1])


def _group(
    file: h5py.File, dataset: str, evaluation: str, rows: Rows, images: Rows
) -> h5py.Dataset:
    group = file.create_group(evaluation_group(dataset, evaluation))
    set_text(group, "dataset", dataset)
    set_text(group, "evaluation", evaluation)
    write_numbers(group, "row", rows)
    return create_numbers(group, "classes", (len(rows), int(images[rows].max())), np.uint16)
