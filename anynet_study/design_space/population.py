"""Populations: the architectures of a study, what they cost and how they were drawn.

How a population came about is a JSON record in the metadata of its table, `Population.sampling`:
`format`, `resolution`, `classes` and `count`, always. Populations that were drawn also have
`space`, `seed`, the bands (`flops`, `parameters`, `activations`, where limited; meant at
`resolution` and `classes`), `strata` if there were any, and `candidates` (looked at until the last
was found), `in_space` (of these, those that obey the space's constraints), `in_band`,
`duplicates`, `acceptance` = in_band / in_space, `acceptance_interval` (95%). Those that were read
from a file that someone made have its name, `file`, and `sha256`.

`derived` lists what was done afterwards, in order: the `step`, which is the name of a method of
`Population`, its arguments, and how many architectures were `left`. So anyone can draw the
population again.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anynet_study.design_space import complexity, memory
from anynet_study.design_space.architecture import Architecture, checked
from anynet_study.design_space.networks import IntArray, Networks
from anynet_study.design_space.population_files import read_population, write_population
from anynet_study.design_space.population_table import (
    METADATA_KEY,
    Group,
    architectures_of,
    groups_in,
    groups_of,
    metadata,
    recounted,
    tabulate,
    taken,
    values_of,
)
from anynet_study.design_space.validation import one_of, whole_number
from anynet_study.errors import UserError
from anynet_study.filters import parse_filter

if TYPE_CHECKING:
    import pandas as pd

#: What becomes of architectures without errors; see `Population.join`.
MISSING = ("refuse", "keep", "drop")


class Population:
    """Different architectures, one row of `table` each, in the order they were drawn.

    `population[i]`, iteration and `len` are over `Architecture`s. Columns: `architecture` (the
    id), d1 to dS, w1.., b1.., g1.. (of the network that is built), `stem`, `stem_width`, s1 to sS
    (strides), `block`, `se_ratio`, `weight` (only where some were likelier to be drawn than
    others), and `flops`, `parameters`, `activations` at `resolution` and `classes`. S is the most
    stages that one of them has; cells of stages that an architecture lacks are null.

    What makes a population of another one returns a new one, whose `sampling` tells the step.
    """

    def __init__(
        self, table: pa.Table, architectures: Sequence[Architecture] | None = None
    ) -> None:
        """Wrap a table that has the columns, and the sampling record as schema metadata.

        `architectures`, if they are there already, are those of the rows.
        """
        self.table = table
        self._given = architectures

    @classmethod
    def from_networks(
        cls,
        networks: Networks,
        resolution: int,
        classes: int,
        sampling: dict[str, Any],
        weights: Any = None,
    ) -> "Population":
        """Tabulate compatible, different networks; `sampling` says how they were drawn.

        `weights` are for samples in which some were likelier than others (see `Strata`).
        """
        whole = [Group(np.arange(len(networks)), networks)]
        return cls(tabulate(whole, resolution, classes, sampling, weights))

    @classmethod
    def from_architectures(
        cls, architectures: Sequence[Architecture], resolution: int = 224, classes: int = 1000
    ) -> "Population":
        """Tabulate chosen architectures. Raises UserError where one appears twice."""
        checked(resolution, classes)
        if not architectures:
            raise UserError("population: there is no architecture in it")
        sampling = {"resolution": resolution, "classes": classes, "count": len(architectures)}
        population = cls(tabulate(groups_of(architectures), resolution, classes, sampling))
        _check_different(population.ids)
        return population

    @classmethod
    def concatenate(cls, populations: Sequence["Population"]) -> "Population":
        """Return the architectures of all, one population after the other.

        Raises UserError where costs are counted at different places, where an architecture is in
        two of them, or where one has weights: weights of different samples do not compare.
        """
        if not populations:
            raise UserError("concatenate: there is no population")
        places = {(population.resolution, population.classes) for population in populations}
        if len(places) > 1:
            raise UserError("concatenate: costs are counted at different places; use `at` first")
        if any("weight" in population.table.column_names for population in populations):
            raise UserError("concatenate: weights of different samples do not compare")
        architectures = [architecture for population in populations for architecture in population]
        whole = cls.from_architectures(architectures, *places.pop())
        records = [population.sampling for population in populations]
        return cls(_extended(whole.table, "concatenate", {"of": records}), architectures)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        place = f"{self.resolution} px, {self.classes} classes"
        return f"<Population of {len(self):,} architectures, costs at {place}>"

    def __getitem__(self, index: int) -> Architecture:
        return self._architectures[index]

    def __iter__(self) -> Iterator[Architecture]:
        return iter(self._architectures)

    @cached_property
    def _architectures(self) -> Sequence[Architecture]:
        return architectures_of(self.table) if self._given is None else self._given

    @cached_property
    def groups(self) -> list[Group]:
        """The networks as arrays, those of each skeleton together, with their rows."""
        return groups_in(self.table)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The architectures' ids, in order."""
        return tuple(self.table["architecture"].to_pylist())

    def flops(self, resolution: int, classes: int) -> IntArray:
        """Multiply-adds of every architecture at any resolution and class count, (n,) int64."""
        checked(resolution, classes)
        counts = np.empty(len(self), dtype=np.int64)
        for rows, networks in self.groups:
            counts[rows] = complexity.flops(networks, resolution, classes)
        return counts

    def training_memory(self, batch: int = 128) -> IntArray:
        """Bytes that a training step of every architecture takes, (n,) int64; see `memory`."""
        whole_number(batch, "batch", 1, memory.MAX_BATCH)
        needed = np.empty(len(self), dtype=np.int64)
        for rows, networks in self.groups:
            place = self.resolution, self.classes
            needed[rows] = memory.training_memory(networks, *place, batch)
        return needed

    def equals(self, other: "Population") -> bool:
        """Whether the other has the same architectures, costs and record."""
        return bool(self.table.equals(other.table, check_metadata=True))

    def find(self, architecture_id: str) -> Architecture:
        """Return the architecture of that id. Raises UserError where there is none."""
        if architecture_id not in self.ids:
            raise UserError(
                f"architecture {architecture_id} is not among the {len(self)} of this population"
                f" (the first is {self.ids[0]})"
            )
        return self[self.ids.index(architecture_id)]

    @property
    def sampling(self) -> dict[str, Any]:
        """How the population was drawn, JSON-able; see the top of this module."""
        record: dict[str, Any] = json.loads(self.table.schema.metadata[METADATA_KEY])
        return record

    @property
    def resolution(self) -> int:
        """Image side at which FLOPs and activations are counted."""
        return self._place[0]

    @property
    def classes(self) -> int:
        """Number of classes at which FLOPs, parameters and activations are counted."""
        return self._place[1]

    @property
    def _place(self) -> tuple[int, int]:
        record = self.sampling
        moves = (step for step in record.get("derived", []) if step["step"] == "at")
        last = [record, *moves][-1]
        return last["resolution"], last["classes"]

    def filter(self, condition: str | npt.ArrayLike) -> "Population":
        """Return the architectures that a condition keeps, in order.

        Text compares columns, such as "flops > 380e6 and d1 >= 2 and block = bottleneck" (see
        `anynet_study.filters`; `nan` is a stage that is not there); otherwise a boolean mask of
        shape (n,). Raises UserError where nothing is left.
        """
        if not isinstance(condition, str):
            rows = _rows_marked(condition, len(self))
            return self._part(rows, "select", ids=[self.ids[row] for row in rows])
        rows = _rows_where(self.table, condition)
        return self._part(rows, "filter", condition=condition)

    def select(self, ids: Sequence[str]) -> "Population":
        """Return the architectures of these ids, in their order. Raises UserError if one lacks."""
        return self._part(_rows_of(self.ids, ids), "select", ids=list(ids))

    def first(self, count: int) -> "Population":
        """Return the first architectures: those of a smaller sample, for one that was drawn."""
        count = whole_number(count, "first", 1, len(self))
        return self._part(np.arange(count), "first", count=count)

    def subsample(self, count: int, seed: int = 0) -> "Population":
        """Draw `count` architectures, all equally likely, in random order.

        The first 10 of 20 are the 10 of the same seed, and the order of this population's rows
        changes nothing.
        """
        count = whole_number(count, "subsample: count", 1, len(self))
        rows = _shuffled(self.ids, _checked_seed(seed))[:count]
        return self._part(rows, "subsample", count=count, seed=seed)

    def split(self, sizes: Sequence[float], seed: int = 0) -> tuple["Population", ...]:
        """Deal the architectures at random into disjoint _

        `sizes` are counts (whole numbers), or fractions of all, which are rounded; what they leave
        is in no part. Parts are consecutive pieces of `subsample(len(self), seed)`: the order of
        rows changes nothing, and the first part is the subsample of its size.
        """
        order = _shuffled(self.ids, _checked_seed(seed))
        step = {"sizes": list(sizes), "seed": seed}
        return tuple(
            self._part(order[begin:end], "split", **step, part=part)
            for part, (begin, end) in enumerate(_parts_of(sizes, len(self)))
        )

    def at(self, resolution: int, classes: int) -> "Population":
        """Return the same architectures with their costs counted elsewhere."""
        checked(resolution, classes)
        table = recounted(self.table, self.groups, resolution, classes)
        step = {"resolution": resolution, "classes": classes}
        return Population(_extended(table, "at", step))

    def join(self, errors: "pd.DataFrame", missing: str = "refuse") -> "pd.DataFrame":
        """Return `to_pandas()` with the columns of an error table, by its index of ids.

        Errors of other architectures are left out. `missing` says what becomes of architectures
        without errors: `refuse` raises UserError naming how many, `keep` has NaN, `drop` leaves
        them out. In any case `.attrs["missing"]` lists their ids.
        """
        return _joined(self.to_pandas(), errors, missing)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a DataFrame, one row per architecture."""
        return self.table.to_pandas()

    def write(self, path: Path | str) -> None:
        """Write a file atomically: Parquet, CSV or JSON by the suffix. Raises UserError for others.

        Equal populations give equal bytes. CSV has the table alone and JSON the architectures
        alone: neither tells how they were drawn.
        """
        write_population(self.table, Path(path), self)

    @classmethod
    def read(
        cls, path: Path | str, resolution: int | None = None, classes: int | None = None
    ) -> "Population":
        """Read what `write` wrote, or architectures that someone chose (CSV, JSON, Parquet).

        CSV and Parquet: needed are the columns d1 .. dS and w1 .. wS; left out or left empty, the
        others are as in `Architecture`. CSV may instead have one column
        `architecture`, of published networks' names. JSON: a list of these, and of
        `Architecture.to_dict` mappings. Costs are counted at `resolution` and `classes` (None: as
        in the file, or 224 and 1000). Raises UserError for a missing, foreign or altered file,
        naming file, row and column.
        """
        population = cls(*read_population(Path(path), resolution, classes))
        place = (
            population.resolution if resolution is None else resolution,
            population.classes if classes is None else classes,
        )
        here = (population.resolution, population.classes)
        return population if place == here else population.at(*place)

    def _part(self, rows: IntArray, step: str, **arguments: Any) -> "Population":
        if not len(rows):
            raise UserError(f"population: {step} keeps none of {len(self):,} architectures")
        return Population(_extended(taken(self.table, rows), step, arguments))


def _extended(table: pa.Table, step: str, arguments: dict[str, Any]) -> pa.Table:
    """Return the table, the result of a step, with that step added to its record."""
    record = json.loads(table.schema.metadata[METADATA_KEY])
    steps = [*record.get("derived", []), {"step": step, **arguments, "left": table.num_rows}]
    return table.replace_schema_metadata(metadata({**record, "derived": steps}))


def _rows_where(table: pa.Table, condition: str) -> IntArray:
    """Return the rows that a condition keeps (its language: `anynet_study.filters`)."""
    found = parse_filter(condition, table.column_names)
    columns: Mapping[str, npt.ArrayLike] = {name: _cells(table[name]) for name in found.columns}
    return np.flatnonzero(found.mask(columns))


def _rows_marked(mask: npt.ArrayLike, rows: int) -> IntArray:
    """Return the rows that a boolean mask marks. Raises UserError for what is no such mask."""
    marks = np.asarray(mask)
    if marks.dtype != np.bool_ or marks.shape != (rows,):
        raise UserError(
            f"filter: a mask of type {marks.dtype} and shape {marks.shape}; legal: text, or "
            f"booleans of shape ({rows},)"
        )
    return np.flatnonzero(marks)


def _rows_of(ids: Sequence[str], wanted: Sequence[str]) -> IntArray:
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


def _shuffled(ids: Sequence[str], seed: int) -> IntArray:
    """Return the rows in the random order of the seed, which the order of rows does not change.

    An architecture's place follows from its id and the seed alone: rows are sorted by a bijective
    hash of both (splitmix64, Steele et al. 2014), so that there are no ties.
    """
    words = np.frombuffer(bytes.fromhex("".join(ids)), dtype=">u8").astype(np.uint64)
    start = _mixed(np.array([seed], dtype=np.uint64))
    return np.argsort(_mixed(words ^ start), kind="stable")


def _parts_of(sizes: Sequence[float], rows: int) -> list[tuple[int, int]]:
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


def _check_different(ids: Sequence[str]) -> None:
    """Refuse an architecture that is there more than once."""
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise UserError(f"population: architecture {twice} is there more than once")


def _checked_seed(seed: Any) -> int:
    """Return the seed. Raises UserError unless it is a whole number of 64 bits."""
    return whole_number(seed, "seed", 0, 2**64 - 1)


def _joined(population: "pd.DataFrame", errors: "pd.DataFrame", missing: str) -> "pd.DataFrame":
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
