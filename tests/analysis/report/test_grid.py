"""Tables for people: every cell is that of the table, its interval beside it."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from anynet_study.analysis.analyses import ANALYSES
from anynet_study.analysis.report import grid

TABLE = pd.DataFrame(
    {
        "source": ["a", "b"],
        "target": ["x", "y"],
        "estimate": [0.814, -0.236],
        "low": [0.512, -0.648],
        "high": [0.977, 0.153],
        "p": [0.0004, 0.0421],
        "p_holm": [0.0012, 1.0],
        "n": [1234, 56],
        "effective": [61.27, math.nan],
        "fisher_low": [0.1, 0.2],
        "fisher_high": [0.3, 0.4],
    }
)


def test_an_estimate_with_its_interval_is_one_cell() -> None:
    found = grid.plain_grid(TABLE, {"estimate": "ρ", "p_holm": "p (Holm)"})
    assert found.headings == ["source", "target", "ρ", "p", "p (Holm)", "n", "effective"]
    assert found.rows == [
        ["a", "x", "0.81 [0.51, 0.98]", "<0.001", "0.001", "1,234", "61.3"],
        ["b", "y", "−0.24 [−0.65, 0.15]", "0.042", "1.000", "56", "–"],
    ]
    assert found.names == 2
    assert not found.lacks_intervals


def test_columns_of_their_own_intervals() -> None:
    table = pd.DataFrame(
        {
            "target": ["x"],
            "rho_source": [0.31],
            "rho_source_low": [0.12],
            "rho_source_high": [0.53],
            "new_rank": [41.0],
            "new_rank_low": [17.0],
            "new_rank_high": [61.0],
            "mean": [41.5],
            "low": [40.25],
            "high": [43.75],
            "probability_best": [0.874],
            "flips": [True],
            "note": [""],
        }
    )
    found = grid.plain_grid(table, {"flips": "flips sign"})
    assert dict(zip(found.headings, found.rows[0], strict=True)) == {
        "target": "x",
        "rho source": "0.31 [0.12, 0.53]",
        "new rank": "41 [17, 61]",
        "mean": "41.50 [40.25, 43.75]",
        "probability best": "87%",
        "flips sign": "yes",
    }
    hidden = grid.plain_grid(table.assign(note="too few"), {"mean": ""})
    assert "mean" not in hidden.headings
    assert hidden.rows[0][-1] == "too few"


@pytest.mark.parametrize(
    ("estimate", "low", "expected"),
    [
        (0.5, 0.1, "0.50 [0.10, 0.90]"),
        (0.5, math.nan, "0.50 (no interval)"),
        (math.nan, math.nan, "–"),
        (math.nan, 0.1, "– [0.10, 0.90]"),
    ],
)
def test_what_is_not_known_is_said(estimate: float, low: float, expected: str) -> None:
    assert grid.with_interval(estimate, low, 0.9) == expected
    table = pd.DataFrame({"estimate": [estimate], "low": [low], "high": [0.9]})
    assert grid.plain_grid(table).lacks_intervals == ("no interval" in expected)


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.00099, "<0.001"), (0.001, "0.001"), (0.05, "0.050"), (math.nan, "–")],
)
def test_p_values(p: float, expected: str) -> None:
    assert grid.p_value(p) == expected


def test_repeated_names_are_written_once() -> None:
    found = grid.merge_repeats(grid.Grid(["t"], [["a", "1"], ["a", "2"], ["b", "3"], ["a", "4"]]))
    assert [row[0] for row in found.rows] == ["a", "", "b", "a"]


def test_tables_of_a_page_are_replaced_below_their_titles() -> None:
    new = grid.markdown(grid.Grid(["t", "n"], [["a", "1"]]))
    assert new == "| t | n |\n| --- | ---: |\n| a | 1 |"
    page = "*One*\n\n| old |\n| --- |\n\nText.\n\n*Two*\n\n"
    found = grid.with_tables(page, {"One": new, "Two": new})
    assert found == f"*One*\n\n{new}\n\nText.\n\n*Two*\n\n{new}\n\n"
    assert grid.with_tables(found, {"One": new, "Two": new}) == found
    with pytest.raises(ValueError, match=r"title \*Three\* 0 times"):
        grid.with_tables(page, {"Three": new})


def test_headings_are_those_of_the_analysis() -> None:
    found = grid.grid_of(TABLE, ANALYSES["correlations"], "τ")
    assert found.headings[:4] == ["dataset", "and", "τ", "p"]
    assert "of single runs" in grid.grid_of(TABLE, ANALYSES["corrected"], "τ").headings
    longer = replace(ANALYSES["correlations"], headings={"estimate": "correlation there"})
    assert "τ there" in grid.grid_of(TABLE, longer, "τ").headings


def test_the_spread_of_the_errors() -> None:
    errors = pd.DataFrame({"x": [10.0, 20.0, 40.0, 80.0, math.nan], "y": [math.nan] * 5})
    datasets = pd.DataFrame({"dataset": ["x", "y"], "chance": [90.0, math.nan]})
    found = grid.error_grid(errors, datasets)
    assert found.headings == [
        *("dataset", "lowest", "lower quartile", "median", "upper quartile", "highest"),
        *("guessing", "n"),
    ]
    assert found.rows == [
        ["x", "10.00", "17.50", "30.00", "50.00", "80.00", "90.0", "4"],
        ["y", "–", "–", "–", "–", "–", "–", "0"],
    ]


def test_datasets_and_facts() -> None:
    row = {"dataset": "x", "role": "source", "base": "b", "classes": 10, "train_images": 50_000}
    row |= {"test_images": math.nan, "metric": "top5", "epochs": 100, "chance": 90.0}
    found = grid.dataset_grid(pd.DataFrame([row]))
    assert found.rows == [["x", "source", "b", "10", "50,000", "–", "top-5", "100"]]
    assert found.headings[3:6] == ["classes", "training images", "test images"]
    assert grid.facts_grid({"seed": "7"}) == grid.Grid([], [["seed", "7"]], 2)
