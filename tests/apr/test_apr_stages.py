"""Populations of 1 to 8 stages, also of architectures with different numbers of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from synthetic_study import staged_population

from anynet_study.apr import configurations, cumulative, drivers
from anynet_study.apr.population import parameters_of, stages_of
from anynet_study.errors import UserError


def errors_of(architectures: pd.DataFrame) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    values = generator.uniform(10, 60, (len(architectures), 2))
    return pd.DataFrame(values, pd.Index(architectures["architecture"]), columns=["one", "two"])


def plain_stages(row: pd.Series) -> list[int]:
    """The stages that an architecture has, read cell by cell."""
    return [stage for stage in range(1, 9) if pd.notna(row.get(f"d{stage}"))]


@given(most=st.integers(1, 8), fewest=st.integers(1, 8), seed=st.integers(0, 99))
def test_sums_are_over_the_stages_that_there_are(most: int, fewest: int, seed: int) -> None:
    architectures = staged_population(12, min(fewest, most), most, seed)
    sums = cumulative(architectures.set_index("architecture"))
    for _, row in architectures.iterrows():
        for name, prefix in (("depth", "d"), ("width", "w")):
            truth = sum(row[f"{prefix}{stage}"] for stage in plain_stages(row))
            assert sums.loc[row["architecture"], f"cumulative {name}"] == truth


@pytest.mark.parametrize(("fewest", "most"), [(3, 3), (5, 5), (2, 6)])
def test_drivers_of_any_number_of_stages(fewest: int, most: int) -> None:
    architectures = staged_population(40, fewest, most)
    errors = errors_of(architectures).sample(frac=1, random_state=0)
    table = drivers(errors, architectures, resamples=60).set_index(["dataset", "parameter"])
    rows = architectures.set_index("architecture").loc[errors.index]
    depth = [sum(row[f"d{stage}"] for stage in plain_stages(row)) for _, row in rows.iterrows()]
    truth = stats.spearmanr(errors["two"], depth)
    row = table.loc[("two", "cumulative depth")]
    np.testing.assert_allclose([row["estimate"], row["p"]], truth)


def test_configurations_average_over_those_that_have_the_stage() -> None:
    architectures = staged_population(40, 2, 5)
    errors = errors_of(architectures)
    table = configurations(errors, architectures, top=9)
    assert len(table) == 2 * 4 * 5
    best = errors["two"].sort_values().index[:9]
    for stage in range(1, 6):
        values = architectures.set_index("architecture").loc[best, f"w{stage}"]
        query = f"dataset == 'two' and parameter == 'width' and stage == {stage}"
        row = table.query(query).iloc[0]
        known = [float(value) for value in values if pd.notna(value)]
        assert row["n"] == len(known)
        np.testing.assert_array_equal(row["best"], float(values.iloc[0]))
        truth = [np.mean(known), np.std(known, ddof=1)]
        np.testing.assert_allclose([row["mean"], row["std"]], truth)


def test_a_stage_that_none_of_the_best_has_is_a_row_of_nothing() -> None:
    architectures = staged_population(40, 2, 5)
    errors = errors_of(architectures)
    shallow = architectures.set_index("architecture")["d5"].isna()
    errors.loc[shallow, "one"] -= 100
    last = configurations(errors, architectures, top=3).query("dataset == 'one' and stage == 5")
    assert (last["n"] == 0).all()
    assert last[["best", "mean", "std"]].isna().all(axis=None)


@pytest.mark.parametrize("dtype", ["Int32", "float64", object])
def test_missing_cells_of_any_type_are_missing_stages(dtype: object) -> None:
    architectures = staged_population(20, 1, 3)
    errors = errors_of(architectures)
    columns = architectures.columns.drop("architecture")
    other = architectures.astype(dict.fromkeys(columns, dtype))
    pd.testing.assert_frame_equal(
        parameters_of(errors, other), parameters_of(errors, architectures), check_exact=True
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["d1", "d2", "d4"], "no column d3, w1, "),
        (["d1", "w1", "b1", "g1", "d2", "w2", "b2"], r"no column g2; needed: .* \(2 here\)"),
        (["architecture", "flops"], "no column d1, w1, b1, g1"),
        (["d1", "w1", "b1", "g1", "d9"], "column d9: stages are 1 to 8"),
        (["d0", "w0", "b0", "g0"], "stages are 1 to 8"),
    ],
)
def test_columns_that_are_no_run_of_stages_are_refused(columns: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        stages_of(columns)


@pytest.mark.parametrize("cells", [["b2"], ["d1", "w1", "b1", "g1"], ["d2", "w2", "b2", "g2"]])
def test_gaps_that_are_no_missing_last_stages_are_refused(cells: list[str]) -> None:
    architectures = staged_population(6, 3, 3)
    architectures[cells] = architectures[cells].astype(float)
    architectures.loc[4, cells] = np.nan
    with pytest.raises(UserError, match="architecture 0000000000000004 lacks a parameter"):
        drivers(errors_of(architectures), architectures)
