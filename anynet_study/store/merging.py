"""Tables of several stores put together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.store.errors_table import Labels, Selection


@dataclass(frozen=True)
class Merged:
    """A table with one row a key, of the first store that has it."""

    table: pa.Table
    #: Keys whose rows differ between stores, and the columns in which they do.
    differing: dict[str, list[str]]
    #: One line about them; "" if there are none.
    conflict: str


def merged(key: str, tables: Sequence[pa.Table], names: Sequence[str]) -> Merged:
    """Merge tables by a column. What a store does not know ("" or missing) is no difference."""
    frames = [table.to_pandas().set_index(key) for table in tables]
    first: dict[str, int] = {}
    differing: dict[str, list[str]] = {}
    example = ""
    for number, frame in enumerate(frames):
        for other in range(number):
            mine = frame.index[[first.get(name) == other for name in frame.index]]
            for name, columns in _differences(frames[other].loc[mine], frame.loc[mine]).items():
                told = [f"{frames[n].at[name, columns[0]]} in {names[n]}" for n in (other, number)]
                example = example or f"{name}: {columns[0]} is {', '.join(told)}"
                differing.setdefault(name, []).extend(columns)
        for name in frame.index:
            first.setdefault(name, number)
    keep = [[first[name] == n for name in frame.index] for n, frame in enumerate(frames)]
    kept = [table.filter(pa.array(rows)) for table, rows in zip(tables, keep, strict=True)]
    line = f"{key}s that are not the same in all stores: {len(differing)}, such as {example}"
    return Merged(stacked(kept), differing, line if differing else "")


def _differences(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, list[str]]:
    """Rows of two tables of the same index that differ, with the columns in which they do."""
    found: dict[str, list[str]] = {}
    for column in one.columns.intersection(other.columns):
        a, b = one[column], other[column]
        known = a.notna() & b.notna() & (a.astype(str) != "") & (b.astype(str) != "")
        for name in one.index[(known & (a != b)).to_numpy(bool)]:
            found.setdefault(str(name), []).append(column)
    return found


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables below each other; what one of them lacks is missing, a missing text is ""."""
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    for number, field in enumerate(table.schema):
        column = table.column(number)
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        if text and column.null_count:
            filled = column.cast(pa.string()).fill_null("")
            filled = filled.dictionary_encode() if pa.types.is_dictionary(field.type) else filled
            table = table.set_column(number, field.name, filled)
    return table


def with_store(table: pa.Table, name: str) -> pa.Table:
    """The table with a first column `store` that says `name`."""
    codes = pa.array(np.zeros(len(table), np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array([name], pa.string()))
    return table.add_column(0, "store", column)


def joint(selections: Sequence[Selection]) -> Selection:
    """The runs of several selections, in the order of the merged labels."""
    architectures, of_architecture = _joint_labels([one.architectures for one in selections])
    datasets, of_dataset = _joint_labels([one.datasets for one in selections])
    numbered = [
        replace(one, architecture=a[one.architecture], dataset=d[one.dataset])
        for one, a, d in zip(selections, of_architecture, of_dataset, strict=True)
    ]
    everything = Selection(
        architectures,
        datasets,
        *(
            np.concatenate([getattr(one, name) for one in numbered])
            for name in ("architecture", "dataset", "replicate", "error")
        ),
    )
    keys = (everything.replicate, everything.dataset, everything.architecture)
    return everything[np.lexsort(keys)]


def _joint_labels(parts: Sequence[Labels]) -> tuple[Labels, list[np.ndarray]]:
    """All names, those of the studies first, and the place of every part's names among them."""
    of_studies = [name for part in parts for name in part.names[: part.of_study]]
    others = [name for part in parts for name in part.names[part.of_study :]]
    names = list(dict.fromkeys([*of_studies, *others]))
    place = {name: number for number, name in enumerate(names)}
    places = [np.array([place[name] for name in part.names], np.int32) for part in parts]
    return Labels(np.array(names, object), len(set(of_studies))), places
