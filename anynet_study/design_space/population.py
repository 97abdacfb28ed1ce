"""Populations: the architectures of a study, what they cost and how they were drawn."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.design_space import complexity
from anynet_study.design_space.architecture import Architecture, checked
from anynet_study.design_space.networks import IntArray, Networks, networks_of
from anynet_study.design_space.table import (
    FORMAT,
    METADATA_KEY,
    architectures_of,
    schema_of,
    stages_of,
    tabulate,
    upgraded,
)
from anynet_study.errors import UserError
from anynet_study.files import replacing

if TYPE_CHECKING:
    import pandas as pd


class Population:
    """Different architectures, one row of `table` each, in the order they were drawn.

    `population[i]`, iteration and `len` are over `Architecture`s. Columns: `architecture` (the
    id), d1 to dS, w1.., b1.., g1.. (realised), `stem`, `stem_width`, s1 to sS (strides), `block`,
    `se_ratio`, `weight` (only where some were likelier to be drawn than others), and `flops`,
    `parameters`, `activations` at the resolution and number of classes of `sampling`. S is the
    most stages that one of them has; cells of stages that an architecture lacks are null.
    """

    def __init__(self, table: pa.Table) -> None:
        """Wrap a table that has the columns, and the sampling record as schema metadata."""
        self.table = table

    @classmethod
    def from_networks(
        cls,
        networks: Networks,
        resolution: int,
        classes: int,
        sampling: dict[str, Any],
        weights: Any = None,
    ) -> "Population":
        """Tabulate realised, different networks; `sampling` says how they were drawn.

        `weights` are for samples in which some were likelier than others (see `Strata`).
        """
        costs = [
            complexity.flops(networks, resolution, classes),
            complexity.parameters(networks, classes),
            complexity.activations(networks, resolution, classes),
        ]
        return cls(tabulate(_architectures(networks), costs, sampling, weights))

    @classmethod
    def from_architectures(
        cls, architectures: Sequence[Architecture], resolution: int = 224, classes: int = 1000
    ) -> "Population":
        """Tabulate chosen architectures. Raises UserError where one appears twice."""
        checked(resolution, classes)
        if not architectures:
            raise UserError("population: there is no architecture in it")
        ids = [architecture.id for architecture in architectures]
        if len(set(ids)) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise UserError(f"population: architecture {twice} is there more than once")
        costs = [
            [a.flops(resolution, classes) for a in architectures],
            [a.parameters(classes) for a in architectures],
            [a.activations(resolution, classes) for a in architectures],
        ]
        sampling = {"resolution": resolution, "classes": classes, "count": len(ids)}
        return cls(tabulate(architectures, costs, sampling))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, index: int) -> Architecture:
        return self._architectures[index]

    def __iter__(self) -> Iterator[Architecture]:
        return iter(self._architectures)

    @cached_property
    def _architectures(self) -> list[Architecture]:
        return architectures_of(self.table)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The architectures' ids, in order."""
        return tuple(self.table["architecture"].to_pylist())

    def flops(self, resolution: int, classes: int) -> IntArray:
        """Multiply-adds of every architecture at any resolution and class count, (n,) int64."""
        checked(resolution, classes)
        counts = np.empty(len(self), dtype=np.int64)
        frames = [a.frame for a in self]
        rows = [(a.depths, a.widths, a.bottleneck_ratios, a.group_widths) for a in self]
        for frame in dict.fromkeys(frames):
            places = [number for number, one in enumerate(frames) if one == frame]
            networks = networks_of([rows[place] for place in places], frame)
            counts[places] = complexity.flops(networks, resolution, classes)
        return counts

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
        """How the population was drawn, JSON-able.

        `format`, `resolution`, `classes` and `count`, always; for a sampled population also
        `space`, `seed`, the bands (`flops`, `parameters`, `activations`, where limited), and
        `candidates` (looked at until the last was found), `in_space` (of these, those that obey
        the space's constraints), `in_band`, `duplicates`, `acceptance` = in_band / in_space,
        `acceptance_interval` (95%).
        """
        record: dict[str, Any] = json.loads(self.table.schema.metadata[METADATA_KEY])
        return record

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a DataFrame, one row an architecture."""
        return self.table.to_pandas()

    def write(self, path: Path | str) -> None:
        """Write a Parquet file atomically; equal populations give equal bytes."""
        with replacing(Path(path)) as temporary:
            pq.write_table(self.table, temporary)

    @classmethod
    def read(cls, path: Path | str) -> "Population":
        """Read what `write` wrote. Raises UserError for a missing, foreign or altered file."""
        try:
            with Path(path).open("rb") as file:
                table = pq.ParquetFile(file).read()
        except FileNotFoundError:
            raise UserError(f"{path}: there is no such population file") from None
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"{path}: not a population's Parquet file ({reason})") from None
        population = cls(_checked(table, path))
        if any(a.id != known for a, known in zip(population, population.ids, strict=True)):
            raise UserError(f"{path}: an id does not fit its architecture: the file was altered")
        return population


def _architectures(networks: Networks) -> list[Architecture]:
    frame = networks.frame
    shared = (frame.strides, frame.stem, frame.stem_width, frame.block, frame.se_ratio)
    rows = networks.rows().reshape(-1, 4, frame.stages).tolist()
    return [Architecture(tuple(d), tuple(w), tuple(b), tuple(g), *shared) for d, w, b, g in rows]


def _checked(table: pa.Table, path: Path | str) -> pa.Table:
    """Return the table in the present format. Raises UserError for what is no population."""
    if METADATA_KEY not in (table.schema.metadata or {}):
        raise UserError(f"{path}: a Parquet file, but not a population")
    version = json.loads(table.schema.metadata[METADATA_KEY]).get("format")
    if version == 1 and "flops" in table.column_names:
        table = upgraded(table)
    elif version != FORMAT:
        raise UserError(f"{path}: format {version}, but this version reads formats 1 to {FORMAT}")
    if not table.schema.equals(schema_of(stages_of(table), "weight" in table.column_names)):
        raise UserError(f"{path}: a Parquet file, but not a population")
    return table
