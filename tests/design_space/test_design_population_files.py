"""Populations in files: what was written is read, and what someone else made is understood."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.core.errors import UserError
from anynet_study.design_space import METADATA_KEY, Architecture, DesignSpace, Population
from anynet_study.design_space.foreign import ForeignNetwork, Traced
from anynet_study.design_space.reference import reference

SUFFIXES = (".parquet", ".csv", ".json")


@settings(max_examples=20, deadline=None)
@given(chosen=st.lists(architectures(), min_size=1, max_size=5, unique_by=lambda a: a.id))
def test_any_architectures_round_trip(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[Architecture]
) -> None:
    population = Population.from_architectures(chosen, 32, 10)
    assert population.ids == tuple(a.id for a in chosen)
    for suffix in SUFFIXES:
        path = tmp_path_factory.mktemp("files") / f"population{suffix}"
        population.write(path)
        read = Population.read(path, 32, 10)
        assert read.table.equals(population.table), suffix
        assert list(read) == chosen


def test_a_population_survives_pandas_and_is_the_same_bytes_when_written_again(
    tmp_path: Path,
) -> None:
    regnets = DesignSpace.from_spec({"base": "regnety", "strides": [2, 2]}).sample(2)
    mixed = Population.from_architectures([*DesignSpace.anynetx().sample(3), *regnets])
    frame = mixed.to_pandas()
    frame.to_csv(tmp_path / "p.csv", index=False)
    frame.to_parquet(tmp_path / "p.parquet", index=False)
    for path in (tmp_path / "p.csv", tmp_path / "p.parquet"):
        assert list(Population.read(path)) == list(mixed)
    one, two = tmp_path / "new" / "one.parquet", tmp_path / "two.parquet"
    regnets.write(one)
    read = Population.read(one)
    assert read.equals(regnets)
    read.write(two)
    assert one.read_bytes() == two.read_bytes()
    assert [path.name for path in one.parent.iterdir()] == ["one.parquet"]


FOREIGN = ForeignNetwork("mine:net", 8, 10, "a", "b", Traced(1, 2, 3, 4, 5, 6, 7, 8))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"resolution": "x"}, "resolution: 'x' is not a whole number"),
        ({"networks": 5}, "not a population's Parquet file"),
        ({"costs": 3}, "not the record of a network"),
        ({"uncounted": {"a": 1.5}}, "a cost of a network: 1.5 is not a whole number"),
        ({"name": 5}, "a name of a network is no text"),
        ({"tensors": "c"}, "the record is of another one"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused_whatever_its_digest(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    population, path = Population.from_architectures([FOREIGN], 8, 10), tmp_path / "p.parquet"
    population.write(path)
    assert list(Population.read(path)) == [FOREIGN]
    record = json.loads(population.table.schema.metadata[METADATA_KEY])
    of = record if change.keys() <= record.keys() else record["networks"][FOREIGN.id]
    of |= change
    kept = {METADATA_KEY: json.dumps(record)}
    Population(population.table.replace_schema_metadata(kept)).write(path)
    with pytest.raises(UserError, match=reason):
        Population.read(path)


def test_columns_that_are_left_out_have_stated_defaults(tmp_path: Path) -> None:
    path = tmp_path / "chosen.csv"
    path.write_text("\ufeffd1, w1,d2,w2,d3,w3,b2\n1,16,2,32,,,2\n\n3,8,1,8,1,64,\n")
    population = Population.read(path, 32, 10)
    assert list(population) == [
        Architecture((1, 2), (16, 32), (1, 2), (16, 16), strides=(1, 2)),
        Architecture((3, 1, 1), (8, 8, 64), strides=(1, 2, 2)),
    ]
    record = population.sampling
    assert (record["file"], record["count"], record["classes"]) == ("chosen.csv", 2, 10)
    assert len(record["sha256"]) == 64
    assert Population.read(path).resolution == 224


def test_published_networks_by_name(tmp_path: Path) -> None:
    table, listed = tmp_path / "names.csv", tmp_path / "names.json"
    table.write_text("architecture\nresnet50\nregnetx_200mf\n")
    listed.write_text(json.dumps(["resnet50", reference("regnetx_200mf").to_dict()]))
    wanted = [reference("resnet50"), reference("regnetx_200mf")]
    assert list(Population.read(table)) == list(Population.read(listed)) == wanted


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("d1,w1\n1,16\n2,x\n", ": line 3: column w1: 'x' is not a number"),
        ("d1,w1\n1,16\n2,8.5\n", ": line 3: column w1: '8.5' is not a whole number from 1"),
        ("d1,w1\n1,16\n\n0,8\n", ": line 4: column d1: '0' is not a whole number from 1"),
        ("d1,w1,b1\n1,16,1\n1,16,3\n", ": line 3: stage 1: width 16 is not divisible by bott"),
        ("d1,w1\n1,16\n1,\n", ": line 3: column w1: there is no number"),
        ("d1,w1,d2,w2\n1,16,1,8\n1,16,,8\n", ": line 3: column d2: there is no number"),
        ("d1,w1,stem\n1,16,cifarr\n", ": line 2: stem: 'cifarr' is unknown .did you mean 'cif"),
        ("d1,w1,se_ratio\n1,16,2\n", ": line 2: se_ratio: 2.0 is not a number from 0 to 1"),
        ("d1,w1,weight\n1,16,1\n1,8,0\n", ": line 3: column weight: '0' is not above 0"),
        ("d1,w1,stem_wdith\n1,16,8\n", ": column 'stem_wdith' is unknown; legal: d1 to d8"),
        ("d1,w1,d1\n1,16,8\n", ": column 'd1' is there twice"),
        ("d1,w1\n1,16,8\n", ": line 2 has 3 cells, the header has 2"),
        ("d1,w1\n", ": there is no architecture in it"),
        ("", ": not a population: there are no columns d1 and w1"),
        ("weight,d2\n1,2\n", ": not a population: there are no columns d1 and w1"),
        ("d1,w1\n1,16\n2,16\n1,16\n", ": line 4: the same network as line 2"),
        ("architecture,d1,w1\nabc,1,16\n", ": line 2: column architecture: 'abc' is not the id"),
        ("architecture\nresnet51\n", ": line 2: .*resnet51.* is unknown .did you mean"),
        ('d1,w1\n"1,16\n', ": not a population's CSV file"),
    ],
)
def test_mistakes_in_csv_name_file_line_and_column(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "chosen.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=f"chosen.csv{complaint}") as caught:
        Population.read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[", "not a population's JSON file"),
        pytest.param("[" * 100_000, "not a population's JSON file", id="nested"),
        ("{}", "not a list of architectures"),
        ("[]", "there is no architecture in it"),
        ('["resnet50", 3]', "entry 2: 3 is not a mapping"),
        ('[{"depths": [1], "widths": [8]}]', "entry 1: depths"),
    ],
)
def test_mistakes_in_json_name_the_entry(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(text)
    with pytest.raises(UserError, match=f"chosen.json: {complaint}"):
        Population.read(path)


def test_files_that_say_no_format_are_refused(tmp_path: Path) -> None:
    for name in ("p.txt", "p"):
        with pytest.raises(UserError, match=f"{name}: .* must end in .parquet, .csv, .json"):
            DesignSpace.anynetx().sample(2).write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_files_that_are_not_there_or_not_right(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        with pytest.raises(UserError, match="there is no such population file"):
            Population.read(tmp_path / f"none{suffix}")
    path = tmp_path / "p.parquet"
    DesignSpace.anynetx().sample(2).write(path)
    whole = path.read_bytes()
    for columns, complaint in (
        ({"d1": [1, 3], "w1": [16, 8.5]}, "row 2: column w1: 8.5 is not a whole number"),
        ({"d1": [1], "w1": [16], "x": [1]}, "column 'x' is unknown"),
        ({"x": [1]}, "column 'x' is unknown"),
        (
            {"d1": pa.array([], pa.int32()), "w1": pa.array([], pa.int32())},
            "there is no architecture in it",
        ),
    ):
        pq.write_table(pa.table(columns), path)
        with pytest.raises(UserError, match=f"p.parquet: {complaint}"):
            Population.read(path)
    for content in (b"d1,d2\n1,2\n", whole[:-100]):
        path.write_bytes(content)
        with pytest.raises(UserError, match="not a population's Parquet file"):
            Population.read(path)
    os.mkfifo(tmp_path / "pipe.csv")
    for other in (tmp_path, tmp_path / "pipe.csv"):
        with pytest.raises(UserError, match="there is no such population file"):
            Population.read(other)
    many = pa.table({"d1": np.ones(10_000_001, np.int8), "w1": np.ones(10_000_001, np.int8)})
    pq.write_table(many, path)
    with pytest.raises(UserError, match="it has more than 10,000,000 rows"):
        Population.read(path)


def rewritten(population: Population, path: Path, format_: int, **columns: Any) -> None:
    """Write a file of the format without digests, of other columns if given."""
    table, record = population.table, {**population.sampling, "format": format_}
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), table.field(name), [column])
    if "space" in record:
        record["space"] = {k: v for k, v in record["space"].items() if k != "quantization"}
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(record)}), path)


def test_populations_drawn_before_keep_their_meaning(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    drawn = DesignSpace.anynetx(quantization="nearest").sample(5, flops=(360e6, 400e6)).at(64, 10)
    rewritten(drawn, path, 2)
    read = Population.read(path)
    assert read.table.equals(drawn.table)
    assert read.sampling == drawn.sampling
    assert read.sampling["space"]["quantization"] == "nearest"
    Population(pq.read_table(path)).write(path)  # as of a store that was collected before
    assert Population.read(path).equals(read)


def test_newer_and_altered_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    drawn = DesignSpace.anynetx().sample(2)
    for format_, columns, complaint in (
        (4, {}, "format 4, but this version reads formats 1 to 3"),
        (3, {}, "altered or damaged"),  # no digest
        (2, {"d1": [9, 9]}, "altered or damaged"),
        (2, {"flops": [1, 2]}, "altered or damaged"),
        (2, {"d1": [1, 200]}, "row 2: depths: 200"),
    ):
        arrays = {
            name: pa.array(values, drawn.table[name].type) for name, values in columns.items()
        }
        rewritten(drawn, path, format_, **arrays)
        with pytest.raises(UserError, match=f"p.parquet: {complaint}"):
            Population.read(path)
