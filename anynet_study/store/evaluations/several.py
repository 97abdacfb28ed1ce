"""The evaluations of several stores as those of one."""

from collections.abc import Sequence

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.errors_table import Selection
from anynet_study.store.evaluations.reading import (
    SHOWN,
    evaluation_keys,
    evaluation_predictions_in,
    evaluation_selection,
    evaluations_table,
)
from anynet_study.store.merging import joint, stacked, with_store
from anynet_study.store.predictions import Part, PredictionArray
from anynet_study.store.union import Member

Mask = NDArray[np.bool_]


def united_table(members: Sequence[Member], columns: Sequence[str]) -> pa.Table:
    """These columns of the evaluations, those that are in an earlier store left out."""
    own = [name for name in columns if name != "store"] or ["run_id"]
    tables = []
    for one, (first, planned) in zip(members, _united(members), strict=True):
        with one.file.open() as file:
            tables.append(_rows(one, file, own, np.flatnonzero(first), planned))
    return stacked(tables).select(columns)


def united_selection(
    members: Sequence[Member], places: Sequence[int], dataset: str, metric: str, recipe: str | None
) -> Selection:
    """As `reading.evaluation_selection`; `places`: the stores that have the recipe."""
    found, masks = [], _united(members)
    for place in places:
        first, planned = masks[place]
        with members[place].file.open() as file:
            found.append(evaluation_selection(file, dataset, metric, recipe, first & planned))
    return joint(found)


def united_predictions(
    members: Sequence[Member], dataset: str, evaluation: str
) -> tuple[pa.Table, PredictionArray]:
    """The evaluations that have predictions, and these.

    Raises UserError where no store has any, and where they are not of the same images.
    """
    found, parts, widths, refusals = [], [], set(), []
    for one, (first, planned) in zip(members, _united(members), strict=True):
        with one.file.open() as file:
            try:
                group = evaluation_predictions_in(file, dataset, evaluation)
            except UserError as error:  # another store may have them
                refusals.append(error)
                continue
            rows = group["row"][()]
            lines = np.flatnonzero(first[rows])
            found.append(_rows(one, file, SHOWN, rows[lines], planned))
            widths.add(group["classes"].shape[1])
            parts.append(Part(one.file, group.name, lines))
    if not parts:
        raise refusals[0]
    if len(widths) > 1:
        said = f"predictions of {evaluation} on {dataset} are of {sorted(widths)} images"
        raise UserError(f"{said}: unlike data")
    return stacked(found), PredictionArray(parts, *widths)


def _united(members: Sequence[Member]) -> list[tuple[Mask, Mask]]:
    """Of every store's evaluations, which are not in an earlier store; and which are planned.

    An evaluation is planned if the sweep of any store asks for it.
    """
    keys, planned = [], []
    for one in members:
        with one.file.open() as file:
            keys.append(evaluation_keys(file))
            planned.append(evaluations_table(file, ["planned"])["planned"].to_numpy())
    each = pa.concat_arrays(keys).dictionary_encode().indices.to_numpy()
    first = np.zeros(len(each), np.bool_)
    first[np.unique(each, return_index=True)[1]] = True
    asked = (np.bincount(each, np.concatenate(planned)) > 0)[each]
    ends = np.cumsum([len(key) for key in keys])[:-1]
    return list(zip(np.split(first, ends), np.split(asked, ends), strict=True))


def _rows(
    one: Member,
    file: h5py.File,
    columns: Sequence[str],
    rows: NDArray[np.int64],
    planned: NDArray[np.bool_],
) -> pa.Table:
    """These of a store's evaluations."""
    table = evaluations_table(file, columns, rows)
    if "planned" in columns:
        place = table.column_names.index("planned")
        table = table.set_column(place, "planned", pa.array(planned[rows]))
    return with_store(table, one.name)
