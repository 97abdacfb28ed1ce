"""Populations: the table, what makes a part of it, and the record that draws it again."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, DesignSpace, Population

COLUMNS = [
    "architecture",
    *(f"{letter}{stage}" for letter in "dwbg" for stage in (1, 2, 3, 4)),
    "stem",
    "stem_width",
    *("s1", "s2", "s3", "s4"),
    *("block", "se_ratio"),
    *("flops", "parameters", "activations"),
]
MIXED = [
    Architecture((1, 2), (8, 16), strides=(1, 2), stem="cifar", stem_width=8),
    Architecture((1, 1, 3), (8, 16, 16), strides=(1, 2, 2), block="basic", stem="simple"),
    Architecture((4,), (8,), strides=(1,), block="vanilla"),
    Architecture((2, 2), (8, 32), (1, 2), (8, 4), strides=(2, 2), se_ratio=0.25),
]
POOL = DesignSpace.anynetx().sample(40, seed=9)


@pytest.fixture(scope="module")
def drawn() -> Population:
    space = DesignSpace.anynetx("cifar", stem_width=16)
    return space.sample(60, flops=(1e6, 9e6), resolution=32, classes=10, seed=3)


def test_columns_and_costs(drawn: Population) -> None:
    assert drawn.table.column_names == COLUMNS
    frame = drawn.to_pandas()
    assert [str(frame[c].dtype) for c in ("d1", "s4", "flops")] == ["int32", "int32", "int64"]
    for i, a in enumerate(drawn):
        row = frame.iloc[i]
        assert row["architecture"] == a.id == drawn.ids[i] == drawn[i].id
        assert tuple(row[f"w{stage}"] for stage in (1, 2, 3, 4)) == a.widths
        assert (row["stem"], row["stem_width"], row["s2"]) == ("cifar", 16, 2)
        costs = (a.flops(32, 10), a.parameters(10), a.activations(32, 10))
        assert tuple(row[["flops", "parameters", "activations"]]) == costs


def test_chosen_architectures_make_a_population() -> None:
    population = Population.from_architectures(MIXED, resolution=64, classes=5)
    assert list(population) == MIXED
    assert population.find(MIXED[1].id) == MIXED[1]
    assert population.table["flops"].to_pylist() == [a.flops(64, 5) for a in MIXED]
    asked = {"resolution": 64, "classes": 5, "count": 4}
    assert asked.items() <= population.sampling.items()
    with pytest.raises(UserError, match="is there more than once"):
        Population.from_architectures([*MIXED, MIXED[0]])
    with pytest.raises(UserError, match="no architecture in it"):
        Population.from_architectures([])
    with pytest.raises(UserError, match="architecture 0123 is not among the 4"):
        population.find("0123")


def test_filter_keeps_what_the_condition_says(drawn: Population) -> None:
    frame = drawn.to_pandas()
    kept = drawn.filter("flops > 3e6 and not (d1 = 1 or w4 in (8, 16)) and block = 'bottleneck'")
    brute = frame[(frame.flops > 3e6) & (frame.d1 != 1) & ~frame.w4.isin([8, 16])]
    assert 0 < len(kept) < len(drawn)
    assert list(kept.ids) == brute["architecture"].tolist()
    pd.testing.assert_frame_equal(kept.to_pandas(), brute.reset_index(drop=True))


def test_stages_that_are_not_there_compare_as_missing() -> None:
    population = Population.from_architectures(MIXED)
    assert population.filter("d3 is null").ids == tuple(MIXED[k].id for k in (0, 2, 3))
    two = population.filter("d2 >= 2")
    assert "d3" not in two.table.column_names
    assert "d2" in two.table.column_names
    assert list(two) == [MIXED[0], MIXED[3]]


@pytest.mark.parametrize(
    ("condition", "complaint"),
    [
        ("flop > 3", "no column 'flop' .did you mean 'flops'"),
        ("flops > many", "many is no column; text stands in single quotes"),
        ("flops < 3", "filter keeps none of 60 architectures"),
    ],
)
def test_conditions_that_make_no_sense(drawn: Population, condition: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        drawn.filter(condition)


def test_select_goes_by_the_order_asked_for(drawn: Population) -> None:
    asked = [drawn.ids[k] for k in (7, 2, 30)]
    assert list(drawn.select(asked)) == [drawn[7], drawn[2], drawn[30]]
    with pytest.raises(UserError, match="select: 1 of 2 architectures are not among the 60"):
        drawn.select([drawn.ids[0], "0" * 16])
    with pytest.raises(UserError, match="more than once"):
        drawn.select([drawn.ids[0]] * 2)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**64 - 1), st.randoms(use_true_random=False))
def test_subsamples_are_nested_whatever_the_order_of_rows(seed: int, random: Any) -> None:
    ids = list(POOL.ids)
    random.shuffle(ids)
    assert POOL.subsample(20, seed).ids[:10] == POOL.subsample(10, seed).ids
    assert POOL.subsample(20, seed).ids == POOL.select(ids).subsample(20, seed).ids


@pytest.mark.slow
def test_every_architecture_is_as_likely_to_be_in_a_subsample() -> None:
    counts = dict.fromkeys(POOL.ids, 0)
    for seed in range(600):
        for one in POOL.subsample(10, seed).ids:
            counts[one] += 1
    deviation = (np.array(list(counts.values())) - 150) / np.sqrt(600 * 0.25 * 0.75)
    assert (deviation**2).sum() * 39 / 40 < 72.1  # chi-square, 39 degrees of freedom, 99.9%


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


#: The arguments of `DesignSpace.sample` that a record has.
ASKED = {
    *("count", "flops", "parameters", "activations", "resolution", "classes", "seed", "strata"),
}


def redrawn(record: dict[str, Any]) -> Population:
    """The population whose `sampling` is the record: it says all that is needed."""
    asked = {name: record[name] for name in ASKED & set(record)}
    population = DesignSpace.from_spec(record["space"]).sample(**asked)
    for step in record["derived"]:
        arguments = {k: v for k, v in step.items() if k not in ("step", "left")}
        population = getattr(population, step["step"])(**arguments)
    return population


def test_the_record_redraws_the_population(drawn: Population) -> None:
    steps = drawn.at(40, 20).filter("flops > 2e6").subsample(20, seed=5)
    last = steps.select(steps.ids[::2]).first(3)
    record = last.sampling
    names = [step["step"] for step in record["derived"]]
    assert names == ["at", "filter", "subsample", "select", "first"]
    assert (record["count"], record["resolution"], record["derived"][-1]["left"]) == (60, 32, 3)
    assert redrawn(record).equals(last)
