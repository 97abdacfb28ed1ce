"""The values of one table, one a cell that is not empty, and what it says of its models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import Block, NotANumberError, as_numbers

Ints = NDArray[np.int32]


class Coder:
    """Texts as numbers, counted from 0 in the order in which they came."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def labels(self) -> list[str]:
        return list(self._codes)

    def code(self, column: pa.Array) -> Ints:
        """(n,) int32; -1 for null."""
        encoded = pc.dictionary_encode(pc.cast(column, pa.string()))
        known = [
            self._codes.setdefault(one, len(self._codes)) for one in encoded.dictionary.to_pylist()
        ]
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*known, -1], np.int32)[places])


@dataclass(frozen=True)
class Descriptions:
    """What is said of the models: a value a column and model, where any is given."""

    path: Path
    #: Columns that have to hold numbers.
    numbers: tuple[str, ...]
    #: Column -> code of the model -> text or number.
    values: dict[str, dict[int, Any]] = field(default_factory=dict)

    def add(self, block: Block, columns: tuple[str, ...], model: Ints) -> None:
        """Take the columns of a block. Raises UserError where two rows of a model disagree."""
        for name in columns:
            cells = block.columns[name]
            numbers_of(self.path, block, name) if name in self.numbers else None
            known = self.values.setdefault(name, {})
            for place, (code, cell) in enumerate(
                zip(model.tolist(), cells.to_pylist(), strict=True)
            ):
                if cell is not None and cell == cell and known.setdefault(code, cell) != cell:
                    raise UserError(
                        f"{self.path}: row {block.first_row + place}: column {name} says {cell!r} "
                        f"of a model of which an earlier row says {known[code]!r}; a column that "
                        f"does not describe the model is left out with --ignore {name!r}"
                    )


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
    #: Columns of the run: numbers or texts, as in `record.SCALARS`.
    run: dict[str, pa.Array]
    descriptions: Descriptions

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


def numbers_of(path: Path, block: Block, name: str) -> NDArray[np.float64]:
    """A column as numbers. Raises UserError that names the row and the column."""
    try:
        return as_numbers(block.columns[name])
    except NotANumberError as error:
        raise UserError(
            f"{path}: row {block.first_row + error.place}, column {name}: {error}; leave missing "
            f"cells empty"
        ) from None


def coded(path: Path, block: Block, name: str, coder: Coder) -> Ints:
    """A column of names as numbers. Raises UserError where a cell is empty."""
    codes = coder.code(block.columns[name])
    if (codes < 0).any():
        row = block.first_row + int(np.flatnonzero(codes < 0)[0])
        raise UserError(f"{path}: row {row} has nothing in column {name or '1'}")
    return codes


def repeated(*keys: NDArray[Any]) -> tuple[int, int] | None:
    """Two places at which all keys are equal, the first ones that are; None if there are none."""
    order = np.lexsort(keys)
    same = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    places = np.flatnonzero(same)
    return (int(order[places[0]]), int(order[places[0] + 1])) if places.size else None


def run_columns(
    path: Path, block: Block, columns: Mapping[str, str]
) -> Iterator[tuple[str, pa.Array]]:
    """The columns of the run in a block, as `record.SCALARS` types them."""
    for role, name in columns.items():
        if role in ("seconds", "started"):
            yield role, pa.array(numbers_of(path, block, name))
        elif role == "replicate":
            numbers = np.nan_to_num(numbers_of(path, block, name))
            bad = (numbers % 1 != 0) | (numbers < 0) | (numbers >= 2**31)
            if bad.any():
                row = block.first_row + int(np.flatnonzero(bad)[0])
                raise UserError(f"{path}: row {row}, column {name}: legal: whole numbers from 0")
            yield role, pa.array(numbers.astype(np.int32))
        else:
            text = pc.cast(block.columns[name], pa.string()).fill_null("")
            yield role, text.dictionary_encode()
