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
from anynet_study.design_space.arrow import integers, strings
from anynet_study.design_space.networks import STAGES, IntArray, Networks
from anynet_study.errors import UserError
from anynet_study.files import replacing

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
METADATA_KEY = b"anynet_study.sampling"
#: The columns of each of an architecture's tuples: d1 to d4 and so on.
COLUMNS = {
    field: tuple(f"{letter}{stage}" for stage in range(1, STAGES + 1))
    for field, letter in zip(
        ("depths", "widths", "bottleneck_ratios", "group_widths", "strides"), "dwbgs", strict=True
    )
}
SCHEMA = pa.schema(
    [
        ("architecture", pa.string()),
        *((name, pa.int32()) for field in list(COLUMNS)[:4] for name in COLUMNS[field]),
        ("stem", pa.string()),
        ("stem_width", pa.int32()),
        *((name, pa.int32()) for name in COLUMNS["strides"]),
        ("flops", pa.int64()),
        ("parameters", pa.int64()),
        ("activations", pa.int64()),
    ]
)


class Population:
    """Different architectures, one row of `table` each, in the order they were drawn.

    `population[i]`, iteration and `len` are over `Architecture`s. Columns: `architecture` (the
    id), d1 to d4, w1.., b1.., g1.. (realised), `stem`, `stem_width`, s1 to s4 (strides), and
    `flops`, `parameters`, `activations` at the resolution and number of classes of `sampling`.
    """

    def __init__(self, table: pa.Table) -> None:
        """Wrap a table that has the columns, and the sampling record as schema metadata."""
        self.table = table

    @classmethod
    def from_networks(
        cls, networks: Networks, resolution: int, classes: int, sampling: dict[str, Any]
    ) -> "Population":
        """Tabulate realised, different networks; `sampling` says how they were drawn."""
        costs = [
            complexity.flops(networks, resolution, classes),
            complexity.parameters(networks, classes),
            complexity.activations(networks, resolution, classes),
        ]
        return cls(_table(_architectures(networks), costs, sampling))

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
        return cls(_table(architectures, costs, sampling))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, index: int) -> Architecture:
        return self._architectures[index]

    def __iter__(self) -> Iterator[Architecture]:
        return iter(self._architectures)

    @cached_property
    def _architectures(self) -> list[Architecture]:
        columns = [self.table.select(COLUMNS[field]).to_pydict().values() for field in COLUMNS]
        stages = [zip(*column, strict=True) for column in columns]
        frame = [self.table[name].to_pylist() for name in ("stem", "stem_width")]
        return [Architecture(*values) for values in zip(*stages, *frame, strict=True)]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The architectures' ids, in order."""
        return tuple(self.table["architecture"].to_pylist())

    def flops(self, resolution: int, classes: int) -> IntArray:
        """Multiply-adds of every architecture at any resolution and class count, (n,) int64."""
        checked(resolution, classes)
        counts = np.empty(len(self), dtype=np.int64)
        frames = [(a.stem, a.stem_width, a.strides) for a in self]
        rows = [(a.depths, a.widths, a.bottleneck_ratios, a.group_widths) for a in self]
        for frame in dict.fromkeys(frames):
            places = [number for number, one in enumerate(frames) if one == frame]
            d, w, b, g = np.array([rows[place] for place in places]).transpose(1, 0, 2)
            counts[places] = complexity.flops(Networks(d, w, b, g, *frame), resolution, classes)
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
        `space`, `flops` (the band), `seed`, and `candidates` (looked at until the last was found),
        `in_band`, `duplicates`, `acceptance` = in_band / candidates, `acceptance_interval` (95%).
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
        population = cls(table)
        _check(population, path)
        return population


def _architectures(networks: Networks) -> list[Architecture]:
    frame = (networks.strides, networks.stem, networks.stem_width)
    rows = networks.rows().reshape(-1, 4, STAGES).tolist()
    return [Architecture(tuple(d), tuple(w), tuple(b), tuple(g), *frame) for d, w, b, g in rows]


def _table(
    architectures: Sequence[Architecture], costs: Sequence[Any], sampling: dict[str, Any]
) -> pa.Table:
    values: dict[str, Any] = {
        "architecture": [a.id for a in architectures],
        "stem": [a.stem for a in architectures],
        "stem_width": [a.stem_width for a in architectures],
        **dict(zip(("flops", "parameters", "activations"), costs, strict=True)),
    }
    for name, columns in COLUMNS.items():
        stages = zip(*(getattr(a, name) for a in architectures), strict=True)
        values.update(zip(columns, stages, strict=True))
    record = json.dumps({"format": FORMAT, **sampling})
    arrays = [
        strings(values[name]) if kind == pa.string() else integers(values[name], kind)
        for name, kind in zip(SCHEMA.names, SCHEMA.types, strict=True)
    ]
    return pa.table(arrays, schema=SCHEMA.with_metadata({METADATA_KEY: record}))


def _check(population: Population, path: Path | str) -> None:
    metadata = population.table.schema.metadata or {}
    if METADATA_KEY not in metadata or not population.table.schema.equals(SCHEMA):
        raise UserError(f"{path}: a Parquet file, but not a population")
    version = population.sampling["format"]
    if version != FORMAT:
        raise UserError(f"{path}: format {version}, but this version reads format {FORMAT}")
    if any(a.id != known for a, known in zip(population, population.ids, strict=True)):
        raise UserError(f"{path}: an id does not fit its architecture: the file was altered")
