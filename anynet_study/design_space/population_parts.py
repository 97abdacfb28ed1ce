"""Parts of populations: which rows they have; and their table with errors beside it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anynet_study.design_space.networks import IntArray
from anynet_study.design_space.population_table import values_of
from anynet_study.design_space.validation import one_of, whole_number
from anynet_study.errors import UserError
from anynet_study.filters import parse_filter

if TYPE_CHECKING:
    import pandas as pd

#: What becomes of architectures without errors; see `Population.join`.
MISSING = ("refuse", "keep", "drop")


def rows_where(table: pa.Table, condition: str) -> IntArray:
    """Return the rows that a condition keeps (its language: `anynet_study.filters`)."""
    found = parse_filter(condition, table.column_names)
    columns: Mapping[str, npt.ArrayLike] = {name: _cells(table[name]) for name in found.columns}
    return np.flatnonzero(found.mask(columns))


def rows_marked(mask: npt.ArrayLike, rows: int) -> IntArray:
    """Return the rows that a boolean mask marks. Raises UserError for what is no such mask."""
    marks = np.asarray(mask)
    if marks.dtype != np.bool_ or marks.shape != (rows,):
        raise UserError(
            f"filter: a mask of type {marks.dtype} and shape {marks.shape}; legal: text, or "
            f"booleans of shape ({rows},)"
        )
    return np.flatnonzero(marks)


def rows_of(ids: Sequence[str], wanted: Sequence[str]) -> IntArray:
    """Return the rows of the wanted ids, in their order. Raises UserError for unknown ones."""
    place = {architecture_id: row for row, architecture_id in enumerate(ids)}
    unknown = [architecture_id for architecture_id in wanted if architecture_id not in place]
    if unknown:
        raise UserError(
            f"select: {len(unknown):,} of {len(wanted):,} architectures are not among the "
            f"{len(ids):,} of this population (the first is {unknown[0]})"
        )
    if len(set(wanted)) < len(wanted):
        raise UserError("select: an architecture is named more than once")
    return np.array([place[architecture_id] for architecture_id in wanted], dtype=np.int64)


def shuffled(ids: Sequence[str], seed: int) -> IntArray:
    """Return the rows in the random order of the seed, which the order of rows does not change.

    An architecture's place follows from its id and the seed alone: rows are sorted by a bijective
    hash of both (splitmix64, Steele et al. 2014), so that there are no ties.
    """
    words = np.frombuffer(bytes.fromhex("".join(ids)), dtype=">u8").astype(np.uint64)
    start = _mixed(np.array([seed], dtype=np.uint64))
    return np.argsort(_mixed(words ^ start), kind="stable")


def parts_of(sizes: Sequence[float], rows: int) -> list[tuple[int, int]]:
    """Return where each part begins and ends: counts, or fractions of `rows` rounded.

    Raises UserError for parts that are empty or together larger than the whole.
    """
    fractions = any(isinstance(size, float | np.floating) for size in sizes)
    if not sizes or any(not 0 < size <= (1 if fractions else rows) for size in sizes):
        legal = f"whole numbers from 1 to {rows:,}, or fractions of 1"
        raise UserError(f"split: sizes {list(sizes)!r}: legal: {legal}")
    ends = list(accumulate(sizes))
    if fractions:
        ends = [rows if abs(end - 1) < 1e-9 else int(np.rint(end * rows)) for end in ends]
    bounds = list(pairwise([0, *map(int, ends)]))
    if ends[-1] > rows:
        raise UserError(f"split: {list(sizes)!r} is more than the {rows:,} architectures there are")
    if any(first == last for first, last in bounds):
        raise UserError(f"split: sizes {list(sizes)!r} leave a part of {rows:,} empty")
    return bounds


def check_different(ids: Sequence[str]) -> None:
    """Refuse an architecture that is there more than once."""
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise UserError(f"population: architecture {twice} is there more than once")


def checked_seed(seed: Any) -> int:
    """Return the seed. Raises UserError unless it is a whole number of 64 bits."""
    return whole_number(seed, "seed", 0, 2**64 - 1)


def joined(population: "pd.DataFrame", errors: "pd.DataFrame", missing: str) -> "pd.DataFrame":
    """Join by id: see `Population.join`."""
    one_of(missing, "join: missing", MISSING)
    table = errors.set_index("architecture") if "architecture" in errors else errors
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise UserError(f"join: architecture {twice} has more than one row of errors")
    both = [str(name) for name in table.columns if name in population.columns]
    if both:
        raise UserError(f"join: errors and population both have a column {both[0]!r}; rename it")
    ids = population["architecture"]
    absent = ids[~ids.isin(table.index)].tolist()
    if len(absent) == len(population):
        raise UserError(
            f"join: none of the {len(population):,} architectures has errors; the table's index "
            f"is to hold ids such as {absent[0]}"
        )
    if absent and missing == "refuse":
        raise UserError(
            f"join: {len(absent):,} of {len(population):,} architectures have no errors (the first "
            f"is {absent[0]}); missing='keep' leaves their errors empty, 'drop' leaves them out"
        )
    how = "left" if missing == "keep" else "inner"
    result = population.join(table, on="architecture", how=how).reset_index(drop=True)
    result.attrs["missing"] = absent
    return result


def _cells(column: pa.ChunkedArray) -> Any:
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return values_of(column, missing=np.nan)


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    mixed = words + np.uint64(0x9E3779B97F4A7C15)  # modulo 2^64
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
