"""Populations: the table, and files that are the same bytes for the same population."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


#: The arguments of `DesignSpace.sample` that a record has.
ASKED = {
    *("count", "flops", "parameters", "activations", "resolution", "classes", "seed", "strata"),
}


def redrawn(record: dict[str, Any]) -> Population:
    """The population whose `sampling` is the record: it says all that is needed."""
    steps = record.get("derived", [])
    if steps and steps[0]["step"] == "concatenate":
        population = Population.concatenate([redrawn(part) for part in steps[0]["of"]])
        steps = steps[1:]
    else:
        asked = {name: record[name] for name in ASKED & set(record)}
        population = DesignSpace.from_spec(record["space"]).sample(**asked)
    for step in steps:
        arguments = {k: v for k, v in step.items() if k not in ("step", "left", "part")}
        result = getattr(population, step["step"])(**arguments)
        population = result[step["part"]] if "part" in step else result
    return population


MIXED = [
    Architecture((1, 2), (8, 16), strides=(1, 2), stem="cifar", stem_width=8),
    Architecture((1, 1, 3), (8, 16, 16), strides=(1, 2, 2), block="basic", stem="simple"),
    Architecture((4,), (8,), strides=(1,), block="vanilla"),
    Architecture((2, 2), (8, 32), (1, 2), (8, 4), strides=(2, 2), se_ratio=0.25),
]


@pytest.fixture(scope="module")
def drawn() -> Population:
    space = DesignSpace.anynetx("cifar", stem_width=16)
    return space.sample(60, flops=(1e6, 9e6), resolution=32, classes=10, seed=3)


def test_filter_keeps_what_the_condition_says(drawn: Population) -> None:
    frame = drawn.to_pandas()
    kept = drawn.filter("flops > 3e6 and not (d1 = 1 or w4 in (8, 16)) and block = bottleneck")
    brute = frame[(frame.flops > 3e6) & (frame.d1 != 1) & ~frame.w4.isin([8, 16])]
    assert 0 < len(kept) < len(drawn)
    assert list(kept.ids) == brute["architecture"].tolist()
    pd.testing.assert_frame_equal(kept.to_pandas(), brute.reset_index(drop=True))
    marked = drawn.filter(frame["flops"] > 3e6)
    assert marked.ids == drawn.filter("flops > 3e6").ids


def test_stages_that_are_not_there_compare_as_missing() -> None:
    population = Population.from_architectures(MIXED)
    assert population.filter("d3 = nan").ids == tuple(MIXED[k].id for k in (0, 2, 3))
    assert population.filter("d2 >= 2").ids == (MIXED[0].id, MIXED[3].id)
    two = population.filter("d2 >= 2")
    assert "d3" not in two.table.column_names
    assert "d2" in two.table.column_names
    assert list(two) == [MIXED[0], MIXED[3]]


@pytest.mark.parametrize(
    ("condition", "complaint"),
    [
        ("flop > 3", "no column 'flop' .did you mean flops"),
        ("flops > many", "flops is a number, not 'many'"),
        ("flops < 3", "filter keeps none of 60 architectures"),
        ([True], "a mask of type bool and shape .1,.; legal: text, or booleans of shape .60,."),
        ([1] * 60, "a mask of type int64"),
        ([False] * 60, "keeps none of 60"),
    ],
)
def test_conditions_that_make_no_sense(
    drawn: Population, condition: str | list[bool], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        drawn.filter(condition)


def test_select_goes_by_the_order_asked_for(drawn: Population) -> None:
    asked = [drawn.ids[k] for k in (7, 2, 30)]
    assert list(drawn.select(asked)) == [drawn[7], drawn[2], drawn[30]]
    with pytest.raises(UserError, match="select: 1 of 2 architectures are not among the 60"):
        drawn.select([drawn.ids[0], "0" * 16])
    with pytest.raises(UserError, match="more than once"):
        drawn.select([drawn.ids[0]] * 2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**64 - 1), st.randoms(use_true_random=False))
def test_subsamples_are_nested_whatever_the_order_of_rows(seed: int, random: object) -> None:
    ids = list(POOL.ids)
    random.shuffle(ids)  # type: ignore[attr-defined]
    shuffled = POOL.select(ids)
    assert POOL.subsample(20, seed).ids[:10] == POOL.subsample(10, seed).ids
    assert POOL.subsample(20, seed).ids == shuffled.subsample(20, seed).ids
    parts, others = POOL.split((10, 5, 15), seed), shuffled.split((10, 5, 15), seed)
    assert [part.ids for part in parts] == [part.ids for part in others]
    assert parts[0].ids == POOL.subsample(10, seed).ids


POOL = DesignSpace.anynetx().sample(40, seed=9)


def test_parts_are_disjoint_and_of_the_sizes_asked_for(drawn: Population) -> None:
    parts = drawn.split((0.5, 0.25, 0.25), seed=1)
    assert [len(part) for part in parts] == [30, 15, 15]
    assert sorted(one for part in parts for one in part.ids) == sorted(drawn.ids)
    assert [len(part) for part in drawn.split((7, 50))] == [7, 50]
    assert [len(part) for part in drawn.split((0.3, 0.3))] == [18, 18]
    assert drawn.split((0.5, 0.5), seed=1)[0].ids != drawn.split((0.5, 0.5), seed=2)[0].ids


@pytest.mark.slow
def test_every_architecture_is_as_likely_to_be_in_a_subsample() -> None:
    counts = dict.fromkeys(POOL.ids, 0)
    for seed in range(600):
        for one in POOL.subsample(10, seed).ids:
            counts[one] += 1
    deviation = (np.array(list(counts.values())) - 150) / np.sqrt(600 * 0.25 * 0.75)
    assert (deviation**2).sum() * 39 / 40 < 72.1  # chi-square, 39 degrees of freedom, 99.9%


@pytest.mark.parametrize("sizes", [(), (0,), (61,), (40, 40), (0.7, 0.7), (-1, 3), (0.5, 1e-9)])
def test_sizes_that_make_no_parts(drawn: Population, sizes: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match="split: "):
        drawn.split(sizes)


def test_costs_can_be_counted_elsewhere(drawn: Population) -> None:
    moved = drawn.at(64, 100)
    assert (drawn.resolution, drawn.classes) == (32, 10)
    assert (moved.resolution, moved.classes) == (64, 100)
    row = moved.table.slice(5, 1).to_pylist()[0]
    a = drawn[5]
    costs = [a.flops(64, 100), a.parameters(100), a.activations(64, 100)]
    assert [row["flops"], row["parameters"], row["activations"]] == costs
    assert moved.at(32, 10).table.equals(drawn.table)
    mixed = Population.from_architectures(MIXED).at(33, 7)
    assert mixed.table["flops"].to_pylist() == [one.flops(33, 7) for one in MIXED]


def test_the_record_redraws_the_population(drawn: Population) -> None:
    steps = drawn.at(40, 20).filter("flops > 2e6").subsample(20, seed=5).split((0.4, 0.5), 8)[1]
    last = steps.select(steps.ids[::2]).first(3)
    record = last.sampling
    assert [step["step"] for step in record["derived"]] == [
        *("at", "filter", "subsample", "split", "select", "first"),
    ]
    assert (record["count"], record["resolution"], record["derived"][-1]["left"]) == (60, 32, 3)
    assert redrawn(record).table.equals(last.table, check_metadata=True)


def test_weights_stay_with_their_architectures() -> None:
    strata = {"of": "depth", "edges": [12, 20]}
    drawn = DesignSpace.anynetx().sample(30, strata=strata)
    part = drawn.subsample(9, seed=2)
    weight = dict(zip(drawn.ids, drawn.table["weight"].to_pylist(), strict=True))
    assert part.table["weight"].to_pylist() == [weight[one] for one in part.ids]
    assert redrawn(part.sampling).table.equals(part.table)
    with pytest.raises(UserError, match="weights of different samples"):
        Population.concatenate([drawn, POOL])


def test_populations_of_different_spaces_concatenate() -> None:
    basic = DesignSpace.from_spec(
        {"base": "anynetx", "block": "basic", "strides": [1, 2], "stem": "cifar"}
    ).sample(3)
    both = Population.concatenate([POOL.first(2), basic])
    assert list(both) == [*POOL.first(2), *basic]
    assert both.table["flops"].to_pylist() == [a.flops() for a in both]
    assert both.table["d3"].null_count == 3
    assert redrawn(both.sampling).table.equals(both.table, check_metadata=True)
    assert list(both.filter("block = basic")) == list(basic)
    with pytest.raises(UserError, match="is there more than once"):
        Population.concatenate([POOL, POOL.first(1)])
    with pytest.raises(UserError, match="counted at different places"):
        Population.concatenate([POOL, basic.at(32, 10)])


def test_errors_join_by_id(drawn: Population) -> None:
    ids = list(drawn.ids)
    errors = pd.DataFrame({"digits": np.arange(60.0)}, pd.Index(ids[::-1], name="architecture"))
    table = drawn.join(errors)
    assert table["architecture"].tolist() == ids
    assert table["digits"].tolist() == list(range(59, -1, -1))
    assert table.attrs["missing"] == []
    pd.testing.assert_frame_equal(table, drawn.join(errors.reset_index()))
    few = errors.drop(ids[:2])
    with pytest.raises(UserError, match=f"2 of 60 architectures have no errors .*{ids[0]}"):
        drawn.join(few)
    kept, dropped = drawn.join(few, missing="keep"), drawn.join(few, missing="drop")
    assert kept["digits"].isna().sum() == 2
    assert dropped["architecture"].tolist() == ids[2:]
    assert kept.attrs["missing"] == ids[:2]
    with pytest.raises(UserError, match="none of the 60 architectures has errors"):
        drawn.join(errors.set_axis(range(60)))
    with pytest.raises(UserError, match="both have a column 'flops'"):
        drawn.join(errors.rename(columns={"digits": "flops"}))
    with pytest.raises(UserError, match="more than one row"):
        drawn.join(pd.concat([errors, errors]))


@pytest.mark.slow
def test_a_hundred_thousand_architectures_take_no_time() -> None:
    many = DesignSpace.anynetx().sample(100_000, seed=1)
    begin = time.process_time()
    kept = many.filter("flops > 1e8 and d1 >= 2")
    parts = kept.split((0.9, 0.1))
    moved = parts[0].at(64, 10)
    seconds = time.process_time() - begin
    assert len(moved) == len(parts[0]) > 10_000
    assert seconds < 5  # measured: 0.5
