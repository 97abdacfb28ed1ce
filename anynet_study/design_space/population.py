"""Populations: the architectures of a study, what they cost and how they were drawn.

How a population came about is a JSON record in the metadata of its table, `Population.sampling`:
`format`, `resolution`, `classes` and `count`, always. Populations that were drawn also have
`space`, `seed`, the bands (`flops`, `parameters`, `activations`, where limited; meant at
`resolution` and `classes`), `strata` if there were any, and `candidates` (looked at until the last
was found), `in_space` (of these, those that obey the space's constraints), `in_band`,
`duplicates`, `acceptance` = in_band / in_space, `acceptance_interval` (95%). Those that were read
from a file that someone made have its name, `file`, and `sha256`. `networks` has what is known of
those that are no `Architecture` (`ForeignNetwork.to_record`), by id.

`derived` lists what was done afterwards, in order: the `step`, which is the name of a method of
`Population`, its arguments, and how many architectures were `left`. So anyone can draw the
population again.
"""

import html
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anynet_study.core.errors import UserError
from anynet_study.core.sql import rows_where
from anynet_study.design_space import memory
from anynet_study.design_space.architecture import Architecture, checked
from anynet_study.design_space.foreign import ForeignNetwork
from anynet_study.design_space.networks import IntArray, Networks
from anynet_study.design_space.population_files import (
    Named,
    published,
    read_population,
    write_population,
)
from anynet_study.design_space.population_table import (
    METADATA_KEY,
    AnyNetwork,
    Group,
    architectures_of,
    column_of,
    foreign_record,
    groups_of,
    metadata,
    place_of,
    tabulate,
    taken,
)
from anynet_study.design_space.validation import whole_number

if TYPE_CHECKING:
    import pandas as pd


class Population:
    """Different architectures, one row of `table` each, in the order they were drawn.

    `population[i]`, iteration and `len` are over `Architecture`s, and `ForeignNetwork`s where some
    are anybody's. Columns: `architecture` (the id), `network` (only where some have names), d1 to
    dS, w1.., b1.., g1.. (of the network that is built), `stem`, `stem_width`, s1 to sS (strides),
    `block`, `se_ratio`, `weight` (only where some were likelier to be drawn than others), and
    `flops`, `parameters`, `activations` at `resolution` and `classes`. S is the most stages that
    one of them has; cells of stages that an architecture lacks are null, and all but id, name and
    costs of a `ForeignNetwork`.

    What makes a population of another one returns a new one, whose `sampling` tells the step.

    >>> from anynet_study import DesignSpace
    >>> population = DesignSpace.anynetx().sample(20, flops=(360e6, 400e6), seed=0)
    >>> len(population), len(population.filter("d1 >= 2"))
    (20, 15)
    """

    def __init__(self, table: pa.Table, architectures: Sequence[AnyNetwork] | None = None) -> None:
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
        cls,
        architectures: Sequence[AnyNetwork],
        resolution: int = 224,
        classes: int = 1000,
        names: Sequence[str | None] | None = None,
        sampling: Mapping[str, Any] | None = None,
    ) -> "Population":
        """Tabulate chosen architectures. Raises UserError where one appears twice.

        `names`: what some are called; `sampling`: how those were drawn that were.
        """
        checked(resolution, classes)
        if not architectures:
            raise UserError("population: there is no architecture in it")
        place = {"resolution": resolution, "classes": classes, "count": len(architectures)}
        record = {**place, **(sampling or {}), **foreign_record(architectures)}
        groups = groups_of(architectures)
        population = cls(tabulate(groups, resolution, classes, record, names=names))
        twice, times = Counter(population.ids).most_common(1)[0]
        if times > 1:
            raise UserError(f"population: architecture {twice} is there more than once")
        return population

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        place = f"{self.resolution} px, {self.classes} classes"
        return f"<Population of {len(self):,} architectures, costs at {place}>"

    def _repr_html_(self) -> str:
        """For notebooks: the first architectures and what they cost."""
        shown: str = self.table.slice(0, 10).to_pandas()._repr_html_()
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{shown}"

    # Also Any: scripts over architectures need not rule out a `ForeignNetwork` for type checkers.
    def __getitem__(self, index: int) -> Architecture | Any:
        return self._architectures[index]

    def __iter__(self) -> Iterator[Architecture | Any]:
        return iter(self._architectures)

    @cached_property
    def _architectures(self) -> Sequence[AnyNetwork]:
        return architectures_of(self.table) if self._given is None else self._given

    @cached_property
    def groups(self) -> list[Group]:
        """The networks as arrays, those of each skeleton together, with their rows.

        Foreign networks are groups of their own.
        """
        return groups_of(self._architectures)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The architectures' ids, in order."""
        return tuple(self.table["architecture"].to_pylist())

    @cached_property
    def names(self) -> tuple[str | None, ...]:
        """Return what the architectures are called, in order; None where one has no name."""
        return tuple(column_of(self.table, "network") or [None] * len(self))

    @property
    def sampling(self) -> dict[str, Any]:
        """Tell how the population was drawn, JSON-able; see the top of this module."""
        record: dict[str, Any] = json.loads(self.table.schema.metadata[METADATA_KEY])
        return record

    @property
    def resolution(self) -> int:
        """Image side at which FLOPs and activations are counted."""
        return place_of(self.sampling)[0]

    @property
    def classes(self) -> int:
        """Number of classes at which FLOPs, parameters and activations are counted."""
        return place_of(self.sampling)[1]

    def training_memory(self, batch: int = 128) -> IntArray:
        """Bytes that a training step of every architecture takes, (n,) int64; see `memory`."""
        whole_number(batch, "batch", 1, memory.MAX_BATCH)
        needed = np.empty(len(self), dtype=np.int64)
        place = self.resolution, self.classes
        for rows, networks in self.groups:
            if isinstance(networks, ForeignNetwork):
                needed[rows] = networks.training_memory(batch, *place)
            else:
                needed[rows] = memory.training_memory(networks, *place, batch)
        return needed

    def equals(self, other: "Population") -> bool:
        """Tell whether the other has the same architectures, costs and record."""
        return bool(self.table.equals(other.table, check_metadata=True))

    def find(self, architecture_id: str) -> AnyNetwork:
        """Return the architecture of that id. Raises UserError where there is none."""
        if architecture_id not in self.ids:
            raise UserError(
                f"architecture {architecture_id} is not among the {len(self)} of this population"
                f" (the first is {self.ids[0]})"
            )
        return self[self.ids.index(architecture_id)]

    def filter(self, condition: str) -> "Population":
        """Return the architectures that a condition on columns keeps, in order.

        Such as "flops > 380e6 and d1 >= 2 and block = 'bottleneck'", in SQL (see
        `core.sql`; null is a stage that is not there). Raises UserError where nothing is
        left.
        """
        rows = rows_where(self.table, condition)
        return self._part(rows, "filter", condition=condition)

    def select(self, ids: Sequence[str]) -> "Population":
        """Return the architectures of these ids, in their order. Raises UserError if one lacks."""
        places = {architecture_id: row for row, architecture_id in enumerate(self.ids)}
        unknown = [architecture_id for architecture_id in ids if architecture_id not in places]
        if unknown:
            raise UserError(
                f"select: {len(unknown):,} of {len(ids):,} architectures are not among the "
                f"{len(self):,} of this population (the first is {unknown[0]})"
            )
        if len(set(ids)) < len(ids):
            raise UserError("select: an architecture is named more than once")
        rows = np.array([places[architecture_id] for architecture_id in ids], dtype=np.int64)
        return self._part(rows, "select", ids=list(ids))

    def first(self, count: int) -> "Population":
        """Return the first architectures: those of a smaller sample, for one that was drawn."""
        count = whole_number(count, "first", 1, len(self))
        return self._part(np.arange(count), "first", count=count)

    def subsample(self, count: int, seed: int = 0) -> "Population":
        """Draw `count` architectures, all equally likely, in random order.

        The first 10 of 20 are the 10 of the same seed. An architecture's place follows from its id
        and the seed alone, whatever the order of this population's rows.
        """
        count = whole_number(count, "subsample: count", 1, len(self))
        seed = whole_number(seed, "seed", 0, 2**64 - 1)
        words = np.frombuffer(bytes.fromhex("".join(self.ids)), dtype=">u8").astype(np.uint64)
        start = _mixed(np.array([seed], dtype=np.uint64))
        rows = np.argsort(_mixed(words ^ start), kind="stable")[:count]
        return self._part(rows, "subsample", count=count, seed=seed)

    def at(self, resolution: int, classes: int) -> "Population":
        """Return the same architectures with their costs counted elsewhere.

        Those of foreign networks are estimates, except where they were traced.
        """
        checked(resolution, classes)
        beside = (column_of(self.table, name) for name in ("weight", "network"))
        table = tabulate(self.groups, resolution, classes, self.sampling, *beside)
        step = {"resolution": resolution, "classes": classes}
        return Population(_extended(table, "at", step), self._given)

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
        cls,
        path: Path | str,
        resolution: int | None = None,
        classes: int | None = None,
        named: Named = published,
        written: bool = False,
    ) -> "Population":
        """Read what `write` wrote, or architectures that someone chose (CSV, JSON, Parquet).

        CSV and Parquet: needed are the columns d1 .. dS and w1 .. wS; left out or left empty, the
        others are as in `Architecture`. CSV may instead have one column `architecture`, of
        published networks' names, and any table a column `network` of names, whose other cells are
        empty. JSON: a list of these, and of `Architecture.to_dict` mappings. `named` makes a
        network of a name, an image side and a number of classes. Costs are counted at `resolution`
        and `classes` (None: as in the file, or 224 and 1000, which are not assumed of a file with
        other costs). `written`: only a Parquet file that `write` wrote. Raises UserError for a
        missing, foreign or altered file, naming file, row and column.
        """
        population = cls(*read_population(Path(path), resolution, classes, named, written))
        here = population.resolution, population.classes
        given = resolution, classes
        place = tuple(old if new is None else new for old, new in zip(here, given, strict=True))
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


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix the bits of each word, one to one: splitmix64 (Steele et al. 2014)."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)  # modulo 2^64
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
