"""Populations: the table, and files that are the same bytes for the same population."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anynet_study.design_space import Architecture, DesignSpace, Population
from anynet_study.errors import UserError

COLUMNS = [
    "architecture",
    *(f"{letter}{stage}" for letter in "dwbg" for stage in (1, 2, 3, 4)),
    "stem",
    "stem_width",
    *("s1", "s2", "s3", "s4"),
    *("block", "se_ratio"),
    *("flops", "parameters", "activations"),
]


@pytest.fixture
def population() -> Population:
    return DesignSpace.anynetx("cifar", stem_width=16).sample(12, resolution=32, classes=10)


def test_columns_and_costs(population: Population) -> None:
    assert population.table.column_names == COLUMNS
    frame = population.to_pandas()
    assert [str(frame[c].dtype) for c in ("d1", "s4", "flops")] == ["int32", "int32", "int64"]
    for i, a in enumerate(population):
        row = frame.iloc[i]
        assert row["architecture"] == a.id == population.ids[i] == population[i].id
        assert tuple(row[f"w{stage}"] for stage in (1, 2, 3, 4)) == a.widths
        assert (row["stem"], row["stem_width"], row["s2"]) == ("cifar", 16, 2)
        costs = (a.flops(32, 10), a.parameters(10), a.activations(32, 10))
        assert tuple(row[["flops", "parameters", "activations"]]) == costs


def test_files_round_trip_and_are_equal_byte_for_byte(
    population: Population, tmp_path: Path
) -> None:
    one, two = tmp_path / "new" / "one.parquet", tmp_path / "two.parquet"
    population.write(one)
    read = Population.read(one)
    assert list(read) == list(population)
    assert read.sampling == population.sampling
    read.write(two)
    assert one.read_bytes() == two.read_bytes()
    assert os.listdir(tmp_path / "new") == ["one.parquet"]


def test_chosen_architectures_make_a_population() -> None:
    chosen = [
        Architecture((1,) * 4, (8,) * 4, (1,) * 4, (8,) * 4),
        Architecture((2,) * 4, (8,) * 4, (2,) * 4, (1,) * 4, stem="cifar", stem_width=8),
    ]
    population = Population.from_architectures(chosen, resolution=64, classes=5)
    assert list(population) == chosen
    assert population.find(chosen[1].id) == chosen[1]
    assert population.table["flops"].to_pylist() == [a.flops(64, 5) for a in chosen]
    assert population.flops(9, 3).tolist() == [a.flops(9, 3) for a in chosen]
    assert population.sampling == {"format": 2, "resolution": 64, "classes": 5, "count": 2}
    with pytest.raises(UserError, match="is there more than once"):
        Population.from_architectures([*chosen, chosen[0]])
    with pytest.raises(UserError, match="no architecture in it"):
        Population.from_architectures([])
    with pytest.raises(UserError, match="architecture 0123 is not among the 2"):
        population.find("0123")


def test_files_that_are_no_population_are_refused(population: Population, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    with pytest.raises(UserError, match="there is no such population file"):
        Population.read(path)
    with pytest.raises(UserError, match="not a population's Parquet file"):
        Population.read(tmp_path)
    path.write_text("d1,d2\n1,2\n")
    with pytest.raises(UserError, match="not a population's Parquet file"):
        Population.read(path)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(UserError, match="a Parquet file, but not a population"):
        Population.read(path)
    population.write(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="not a population's Parquet file"):
        Population.read(path)


def test_newer_and_altered_files_are_refused(population: Population, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    table = population.table
    newer = table.replace_schema_metadata({b"anynet_study.sampling": b'{"format": 3}'})
    Population(newer).write(path)
    with pytest.raises(UserError, match="format 3, but this version reads format 2"):
        Population.read(path)
    deeper = pa.array([9] * len(population), pa.int32())
    Population(table.set_column(1, "d1", deeper)).write(path)
    with pytest.raises(UserError, match="the file was altered"):
        Population.read(path)
