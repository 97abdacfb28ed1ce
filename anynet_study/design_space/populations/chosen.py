"""Architectures that someone chose, as columns of cells: of CSV files and foreign Parquet files."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.frame import MAX_STAGES, MAX_WIDTH, Frame
from anynet_study.design_space.networks import FloatArray, IntArray
from anynet_study.design_space.populations.cells import Cells, Group
from anynet_study.design_space.populations.table import COSTS, LETTERS
from anynet_study.errors import UserError

#: What the cell of a stage that is not there may hold, in lower case.
MISSING = {"", "na", "n/a", "nan", "null", "none"}
STAGE = re.compile(rf"[{''.join(LETTERS.values())}][1-{MAX_STAGES}]")
OTHERS = ("architecture", "stem", "stem_width", "block", "se_ratio", "weight", *COSTS)
LEGAL = f"d1 to d{MAX_STAGES}, w1 ..., b1 ..., g1 ..., s1 ..., {', '.join(OTHERS)}"
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Chosen:
    """Networks with what else a file says of them; one entry a row."""

    groups: list[Group]
    #: Where each row is, for messages.
    name_of: Callable[[int], str]
    #: Ids as the file has them, to be compared with those of the networks.
    ids: Sequence[str] | None = None
    weights: FloatArray | None = field(default=None)


def from_columns(columns: Columns, where: str, name_of: Callable[[int], str]) -> Chosen:
    """Build from cells, texts or numbers, by column; `where` names the file, `name_of` a row.

    Needed are d1 .. dS and w1 .. wS. Left out, or left empty, the others are as in `Architecture`:
    ratios 1, one group, the imagenet stem of width 32, bottleneck blocks without
    squeeze-and-excitation; strides are 1, then 2. Complexity is not read, it is counted anew.
    Raises UserError naming file, row and column.
    """
    stages = _stages(columns, where)
    read = _Reader(columns, name_of, len(columns["d1"]))
    of = {f: np.array([read.whole(f"{c}{k}") for k in stages]) for f, c in LETTERS.items()}
    there = of["depths"] > 0
    _check_gaps(there, name_of)
    of["bottleneck_ratios"] = np.where(
        there & (of["bottleneck_ratios"] == 0), 1, of["bottleneck_ratios"]
    )
    one_group = np.maximum(1, of["widths"] // np.maximum(1, of["bottleneck_ratios"]))
    of["group_widths"] = np.where(there & (of["group_widths"] == 0), one_group, of["group_widths"])
    if "s1" not in columns:
        of["strides"] = np.where(there, np.array([[1 if k == 1 else 2] for k in stages]), 0)
    cells = Cells(
        of,
        read.text("stem", Frame.stem),
        read.whole("stem_width", Frame.stem_width),
        read.text("block", Frame.block),
        read.number("se_ratio", Frame.se_ratio),
    )
    ids = read.text("architecture", "") if "architecture" in columns else None
    weights = read.number("weight", np.nan) if "weight" in columns else None
    if weights is not None and not (weights > 0).all():
        row = int(np.argmin(weights > 0))
        raise UserError(f"{name_of(row)}, column weight: {columns['weight'][row]!r} is not above 0")
    return Chosen(cells.groups(name_of), name_of, ids, weights)


def _stages(columns: Columns, where: str) -> list[int]:
    """Check the names of the columns, and return the numbers of the stages."""
    for name in columns:
        if name not in OTHERS and not STAGE.fullmatch(name):
            near = difflib.get_close_matches(name, [*OTHERS, "d1", "w1"], n=1)
            guess = f" (did you mean {near[0]}?)" if near else ""
            raise UserError(f"{where}: column {name!r} is unknown{guess}; legal: {LEGAL}")
    stages = [k for k in range(1, MAX_STAGES + 1) if f"d{k}" in columns]
    last = max((int(name[1]) for name in columns if STAGE.fullmatch(name)), default=1)
    for number in range(1, last + 1):
        for letter in "dw":
            if f"{letter}{number}" not in columns:
                raise UserError(
                    f"{where}: there is no column {letter}{number}; needed: d1, w1, ..."
                )
    return stages


def _check_gaps(there: npt.NDArray[np.bool_], name_of: Callable[[int], str]) -> None:
    """Refuse stages that follow one that is not there; `there` has shape (S, n)."""
    gaps = ~there[:-1] & there[1:]
    if gaps.any():
        row = int(np.argmax(gaps.any(axis=0)))
        stage = int(np.argmax(gaps[:, row])) + 1
        raise UserError(f"{name_of(row)}: there is a stage {stage + 1}, but d{stage} is empty")


@dataclass(frozen=True)
class _Reader:
    columns: Columns
    name_of: Callable[[int], str]
    rows: int

    def text(self, name: str, default: str) -> list[str]:
        if name not in self.columns:
            return [default] * self.rows
        return [default if _is_missing(v) else str(v).strip() for v in self.columns[name]]

    def number(self, name: str, default: float) -> FloatArray:
        """The numbers of a column; the default where there is none."""
        if name not in self.columns:
            return np.full(self.rows, default)
        given = self.columns[name]
        missing = {value for value in set(given) if _is_missing(value)}
        cells = [np.nan if value in missing else value for value in given]
        try:
            values = np.array(cells, dtype=object).astype(np.float64)
        except (TypeError, ValueError):
            row = next(row for row, cell in enumerate(cells) if not _is_number(cell))
            raise UserError(f"{self._cell(name, row)} is not a number") from None
        return np.where(np.isnan(values), default, values)

    def whole(self, name: str, default: int = 0) -> IntArray:
        """The positive whole numbers of a column; the default where there is none."""
        values = self.number(name, default)
        given = self.columns.get(name)
        legal: npt.NDArray[np.bool_] = (values % 1 == 0) & (values >= 1) & (values <= MAX_WIDTH)
        for row in np.flatnonzero(~legal).tolist():
            if given is not None and not _is_missing(given[row]):
                limits = f"from 1 to {MAX_WIDTH:,}"
                raise UserError(f"{self._cell(name, row)} is not a whole number {limits}")
        return values.astype(np.int64)

    def _cell(self, name: str, row: int) -> str:
        return f"{self.name_of(row)}, column {name}: {self.columns[name][row]!r}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in MISSING)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
