"""From a table in a file, long or wide, to its cells: one value each, and what it is of."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.importing.columns import Roles
from anynet_study.store.importing.sheet import Sheet, is_number, is_number_type

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Cells:
    """Values with what they are of; arrays of one length."""

    path: Path
    models: list[str]
    datasets: list[str]
    #: Indices into `models` and `datasets`.
    model: Ints
    dataset: Ints
    value: NDArray[np.float64]
    #: Row of the file that each is from.
    row: NDArray[np.int64]
    #: Columns of the run: numbers or texts, typed as in RECORDS.
    run: dict[str, pa.Array]
    #: What the table says of its models: column -> index of the model -> text or number.
    described: dict[str, dict[int, Any]]

    def __len__(self) -> int:
        return len(self.value)

    def take(self, places: NDArray[np.int64]) -> "Cells":
        """These cells alone."""
        arrays = {
            name: getattr(self, name)[places] for name in ("model", "dataset", "value", "row")
        }
        run = {name: column.take(pa.array(places)) for name, column in self.run.items()}
        return replace(self, **arrays, run=run)

    def where(self, place: int) -> str:
        """How a message names a cell."""
        model, dataset = self.models[self.model[place]], self.datasets[self.dataset[place]]
        return f"{self.path}: row {self.row[place]}, {model} on {dataset}"


def read_cells(sheet: Sheet, roles: Roles) -> Cells:
    """The cells of a table that are not empty.

    Raises UserError that names the row and column of a mistake.
    """
    if not len(sheet):
        raise UserError(f"{sheet.path}: the table has no rows")
    return _long(sheet, roles) if roles.long else _wide(sheet, roles)


def _long(sheet: Sheet, roles: Roles) -> Cells:
    assert roles.dataset is not None
    assert roles.value is not None
    model, dataset = sheet.names(roles.model), sheet.names(roles.dataset)
    value = sheet.numbers(roles.value)
    about = (*roles.numbers, *roles.described, *roles.others)
    cells = Cells(
        path=sheet.path,
        models=model.dictionary.to_pylist(),
        datasets=dataset.dictionary.to_pylist(),
        model=_indices(model),
        dataset=_indices(dataset),
        value=value,
        row=sheet.first_row + np.arange(len(sheet)),
        run=_run_columns(sheet, roles.run),
        described=_descriptions(sheet, about, roles.numbers, _indices(model)),
    )
    return cells.take(np.flatnonzero(~np.isnan(value)))


def _wide(sheet: Sheet, roles: Roles) -> Cells:
    """One column per dataset; columns of text alone describe the models."""
    names, run = sheet.names(roles.model), _run_columns(sheet, roles.run)
    model = _indices(names)
    texts = [name for name in roles.others if _is_text(sheet.columns[name])]
    _refuse_repeats(sheet, names, run)
    about = (*roles.numbers, *roles.described, *texts)
    described = _descriptions(sheet, about, roles.numbers, model)
    datasets = [name for name in roles.others if name not in texts]
    if not datasets:
        raise UserError(f"{sheet.path}: no column holds numbers, so there are no errors in it")
    value = np.concatenate([sheet.numbers(name) for name in datasets])
    rows = np.tile(np.arange(len(sheet)), len(datasets))
    cells = Cells(
        path=sheet.path,
        models=names.dictionary.to_pylist(),
        datasets=datasets,
        model=model[rows],
        dataset=np.repeat(np.arange(len(datasets), dtype=np.int32), len(sheet)),
        value=value,
        row=sheet.first_row + rows,
        run={name: column.take(pa.array(rows)) for name, column in run.items()},
        described=described,
    )
    return cells.take(np.flatnonzero(~np.isnan(value)))


def _indices(names: pa.DictionaryArray) -> Ints:
    return np.asarray(names.indices, np.int32)


def _is_text(column: pa.Array) -> bool:
    """Whether it has cells and none is a number: then it describes the models."""
    if is_number_type(column.type) or column.null_count == len(column):
        return False
    return not any(is_number(cell) for cell in column.drop_null())


def _descriptions(
    sheet: Sheet, columns: tuple[str, ...], numbers: tuple[str, ...], model: Ints
) -> dict[str, dict[int, Any]]:
    """What columns say of the models. Raises UserError where two rows of a model disagree."""
    found: dict[str, dict[int, Any]] = {}
    for name in columns:
        if name in numbers:
            sheet.numbers(name)
        known = found.setdefault(name, {})
        cells = zip(model.tolist(), sheet.columns[name].to_pylist(), strict=True)
        for place, (code, cell) in enumerate(cells):
            if cell is not None and cell == cell and known.setdefault(code, cell) != cell:
                raise UserError(
                    f"{sheet.path}: row {sheet.first_row + place}: column {name} says {cell!r} "
                    f"of a model of which an earlier row says {known[code]!r}; a column that "
                    f"does not describe the model is left out with --ignore {name!r}"
                )
    return found


def repeated(*keys: NDArray[Any]) -> tuple[int, int] | None:
    """Two places, the first ones, at which all keys are equal; None if there are none."""
    order = np.lexsort(keys)
    same = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    places = np.flatnonzero(same)
    return (int(order[places[0]]), int(order[places[0] + 1])) if places.size else None


def _run_columns(sheet: Sheet, columns: Mapping[str, str]) -> dict[str, pa.Array]:
    """The columns that say something of the run, by our names."""
    found = {}
    for role, name in columns.items():
        if role in ("seconds", "started"):
            found[role] = pa.array(sheet.numbers(name))
        elif role == "replicate":
            numbers = np.nan_to_num(sheet.numbers(name))
            bad = (numbers % 1 != 0) | (numbers < 0) | (numbers >= 2**31)
            if bad.any():
                row = sheet.first_row + int(np.flatnonzero(bad)[0])
                raise UserError(
                    f"{sheet.path}: row {row}, column {name}: legal: whole numbers from 0"
                )
            found[role] = pa.array(numbers.astype(np.int32))
        else:
            text = pc.cast(sheet.columns[name], pa.string()).fill_null("")
            found[role] = text.dictionary_encode()
    return found


def _refuse_repeats(sheet: Sheet, names: pa.DictionaryArray, run: dict[str, pa.Array]) -> None:
    keys = [pc.rank(pc.cast(column, pa.string()), tiebreaker="dense") for column in run.values()]
    pair = repeated(_indices(names), *(np.asarray(key) for key in keys))
    if pair is not None:
        first, second = (sheet.first_row + place for place in sorted(pair))
        raise UserError(
            f"{sheet.path}: {names[pair[0]].as_py()} is there twice, in rows {first} and {second}; "
            f"repetitions of a model need a column replicate"
        )
