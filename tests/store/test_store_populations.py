"""Populations with any columns: stages that some architectures lack, blocks, weights."""

import io
import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from store_factory import ARCHITECTURES, DATASETS, datasets, record, selected, write_journal
from typer.testing import CliRunner

from anynet_study.cli.query import query as command
from anynet_study.core.errors import UserError
from anynet_study.store import ResultStore, collect, select, stores_equal

#: Depth of the stages of the three architectures.
DEPTHS = ((2, 3, 4), (1, 5), (6, 7, 8, 9, 10))


def staged(most: int) -> pa.Table:
    """The architectures with at most so many of their stages, as a space's sample has them."""
    columns = {"architecture": pa.array(ARCHITECTURES, pa.string())}
    for prefix in "dwbgs":
        for stage in range(min(most, max(map(len, DEPTHS)))):
            cells = [depths[stage] if stage < len(depths) else None for depths in DEPTHS]
            columns[f"{prefix}{stage + 1}"] = pa.array(cells, pa.int32())
    columns["block"] = pa.array(["basic", "vanilla", "bottleneck"]).dictionary_encode()
    columns["se_ratio"] = pa.array([0.0, 0.25, 0.0])
    columns["weight"] = pa.array([0.5, 1.0, 1.75])
    columns["flops"] = pa.array([380_000_000, 390_000_001, None], pa.int64())
    return pa.table(columns)


def make(folder: Path, population: pa.Table) -> Path:
    journal = folder / "journals" / "worker.arrow"
    if not journal.exists():
        write_journal(journal, [record(number) for number in range(9)])
    out = folder / "results.h5"
    collect(folder / "journals", out, population, datasets(), None, {})
    return out


@pytest.mark.parametrize("most", [2, 3, 5])
def test_what_is_read_is_what_pandas_makes_of_the_population(tmp_path: Path, most: int) -> None:
    population = staged(most)
    store = ResultStore(make(tmp_path, population))
    pd.testing.assert_frame_equal(
        store.architectures(), population.to_pandas().astype({"block": object}), check_dtype=False
    )
    dtypes = store.architectures().dtypes
    assert (dtypes["d1"], dtypes["weight"]) == (np.int32, np.float64)
    assert dtypes[f"d{most}"] == (np.int32 if most == 2 else np.float64)
    assert store.errors().shape == (3, len(DATASETS))


def test_missing_stages_are_nan_to_any_reader(tmp_path: Path) -> None:
    with h5py.File(make(tmp_path, staged(5)), "r") as file:
        assert "A missing number is NaN" in file.attrs["layout"].decode()
        group = file["architectures"]
        assert b"block" in group.attrs["columns"]
        np.testing.assert_array_equal(group["d4"][()], [np.nan, np.nan, 9.0])
        assert group["d1"].dtype == np.int32
        assert group["block"].asstr()[()].tolist() == ["basic", "vanilla", "bottleneck"]


def test_missing_texts_truths_and_empty_columns(tmp_path: Path) -> None:
    odd = staged(2).select(["architecture", "d1"])
    odd = odd.append_column("text", pa.array(["a", None, "ü"]))
    odd = odd.append_column("known", pa.array([True, False, True]))
    odd = odd.append_column("truth", pa.array([True, None, False]))
    odd = odd.append_column("nothing", pa.nulls(3))
    read = ResultStore(make(tmp_path, odd)).architectures()
    assert read["text"].tolist() == ["a", "", "ü"]
    assert read["known"].tolist() == [1, 0, 1]
    np.testing.assert_array_equal(read["truth"], [1.0, np.nan, 0.0])
    assert read["nothing"].isna().all()


def test_a_type_that_cannot_be_stored_is_refused_and_leaves_the_store(tmp_path: Path) -> None:
    out = make(tmp_path, staged(3))
    before = out.read_bytes()
    lists = staged(3).append_column("depths", pa.array([[1], [2], [3]]))
    with pytest.raises(UserError, match=r"column depths: list.* cannot be stored; legal: text"):
        make(tmp_path, lists)
    assert out.read_bytes() == before


@pytest.mark.slow
def test_stores_are_compared_by_every_column(tmp_path: Path) -> None:
    first = make(tmp_path / "a", staged(5))
    assert stores_equal(first, make(tmp_path / "b", staged(5))) == []
    changed = staged(5).set_column(1, "d1", pa.array([2, 1, 7], pa.int32()))
    changed = changed.set_column(4, "d4", pa.array([None, 3, 9], pa.int32()))
    lines = stores_equal(first, make(tmp_path / "b", changed))
    assert lines == [
        f"architecture {ARCHITECTURES[2]}: d1 6 against 7",
        f"architecture {ARCHITECTURES[1]}: d4 None against 3",
    ]
    (line,) = stores_equal(first, make(tmp_path / "b", staged(3)))
    assert line.startswith("columns of architecture")


def test_runs_are_selected_by_what_only_some_architectures_have(tmp_path: Path) -> None:
    store = ResultStore(make(tmp_path, staged(5)))
    deep = selected(store, where="d4 >= 9", columns=["architecture", "d4", "weight"])
    assert set(deep["architecture"]) == {ARCHITECTURES[2]}
    condition = "d3 is null and block = 'vanilla'"
    lacking = select(store, where=condition, columns=["architecture", "d3"])
    assert set(lacking["architecture"].to_pylist()) == {ARCHITECTURES[1]}
    assert pa.types.is_integer(lacking["d3"].type)
    assert lacking["d3"].null_count == len(lacking)
    told = selected(store, "architectures", columns=["d3", "se_ratio"])
    assert sorted(told["d3"].fillna(-1)) == [-1, 4, 8]
    assert told["se_ratio"].dtype == np.float64


def test_whole_numbers_are_written_as_such(tmp_path: Path) -> None:
    out = make(tmp_path, staged(3))
    app = typer.Typer()
    app.command()(command)
    asked = [str(out), "--table", "architectures", "--columns", "d2,d3,flops"]

    def written(form: str) -> str:
        return CliRunner().invoke(app, [*asked, "--format", form], catch_exceptions=False).stdout

    assert written("csv") == "d2,d3,flops\n3,4,380000000\n5,,390000001\n7,8,\n"
    assert json.loads(written("json"))[1] == {"d2": 5, "d3": None, "flops": 390000001}
    rows = pd.read_fwf(io.StringIO(written("table")), dtype=str)
    assert rows["d3"].fillna("").tolist() == ["4", "", "8"]
