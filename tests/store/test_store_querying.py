import io
import json
import math
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import typer
from command import imported
from store_factory import ARCHITECTURES, datasets, failed, make_store, record, selected
from typer.testing import CliRunner

from anynet_study.cli.query import query as command
from anynet_study.cli.rows import _write_json, write_rows
from anynet_study.core.errors import UserError
from anynet_study.core.sql import engine, fetch
from anynet_study.store import ResultStore, select

RUNS = [*(record(number) for number in range(1, 18)), failed(0)]
APP = typer.Typer()
APP.command()(command)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"), RUNS)[0]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(APP, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refusal(*arguments: object) -> str:
    with pytest.raises(UserError) as raised:
        run(*arguments)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_runs_are_selected_by_their_architecture_and_dataset_too(path: Path) -> None:
    rows = selected(
        ResultStore(path),
        where="d1 >= 2 and role in ('source', 'target') and status = 'completed'",
        columns=["run_id", "d1", "classes", "stem", "error"],
    )
    wanted = [
        (one.run_id, ARCHITECTURES.index(one.architecture) + 1, one.error)
        for one in RUNS
        if one.architecture != ARCHITECTURES[0] and one.dataset != "digits-2"
    ]
    found = zip(rows["run_id"], rows["d1"], rows["error"], strict=True)
    assert sorted(found) == sorted(wanted)
    assert set(rows["stem"]) == {"cifar"}


def test_limit_counts_rows(path: Path) -> None:
    assert len(selected(ResultStore(path), limit=3)) == 3


@pytest.mark.parametrize(
    ("table", "shape"),
    [("architectures", (3, 4)), ("datasets", (3, 11)), ("errors", (3, 4)), ("runs", (18, 41))],
)
def test_every_table(path: Path, table: str, shape: tuple[int, int]) -> None:
    rows = selected(ResultStore(path), table)  # type: ignore[arg-type]
    assert rows.shape == shape
    curves = selected(ResultStore(path), "curves", where="epoch = 1 and test_loss > 0")
    assert len(curves) == 17


def test_json_is_exact_and_missing_is_null(path: Path) -> None:
    rows = json.loads(run(path, "--json", "--columns", "run_id,error,planned"))
    by_id = {row["run_id"]: row for row in rows}
    assert by_id[RUNS[0].run_id] == {
        "run_id": RUNS[0].run_id,
        "error": RUNS[0].error,
        "planned": True,
    }
    assert by_id[failed(0).run_id]["error"] is None
    assert json.loads(run(path, "--json", "--where", "error > 1000")) == []


def test_files_are_read_back_exactly(path: Path, tmp_path: Path) -> None:
    whole = selected(ResultStore(path))
    for name, read in (("x.csv", pd.read_csv), ("x.parquet", pd.read_parquet)):
        run(path, "-o", tmp_path / name)
        back = read(tmp_path / name)
        assert back["error"].equals(whole["error"])
        assert list(back.columns) == list(whole.columns)
    run(path, "--table", "datasets", "--format", "json", "-o", tmp_path / "x.txt")
    assert json.loads((tmp_path / "x.txt").read_text()) == datasets().to_pylist()
    run(path, "-o", tmp_path / "plain.txt", "--columns", "message,run_id")
    assert "out of memory" in (tmp_path / "plain.txt").read_text()


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("rows.h5", (), "must not replace one"),
        ("rows.HDF5", ("--format", "csv"), "must not replace one"),
        ("rows.xlsx", (), "ending .xlsx; legal: .txt, .csv, .json, .parquet; any with --format"),
    ],
)
def test_a_file_that_may_be_a_store_or_means_another_format_is_not_written(
    path: Path, tmp_path: Path, name: str, options: tuple[str, ...], reason: str
) -> None:
    assert reason in refusal(path, "-o", tmp_path / name, *options)
    assert not (tmp_path / name).exists()


def test_a_store_is_never_replaced_by_rows_of_it(path: Path) -> None:
    before = path.read_bytes()
    for options in ((), ("--json",), ("--format", "parquet")):
        assert "must not replace one" in refusal(path, "-o", path, *options)
    assert path.read_bytes() == before


def test_long_texts_are_cut_where_they_do_not_fit() -> None:
    rows = pa.table({"name": ["sweep"], "value": ["a: 1\nb: 2\n" + 90 * "x"], "n": [1]})
    file = io.StringIO()
    write_rows(rows, "table", file, 60)
    head, line, hidden = file.getvalue().splitlines()
    assert head.split() == ["name", "value"]
    assert line == "sweep  a: 1 b: 2 " + (53 - 13) * "x" + "..."
    assert hidden == "not shown, for want of width: n; see --columns"
    file = io.StringIO()
    write_rows(rows, "table", file, 2000)
    assert 90 * "x" in file.getvalue()


def test_a_table_shows_sensible_columns_and_says_what_it_leaves_out(path: Path) -> None:
    shown = run(path).splitlines()
    columns = "architecture dataset replicate status error recipe run_id"
    assert shown[0].split() == columns.split()
    assert len(shown) == 19
    (first,) = [line for line in shown if line.endswith(RUNS[0].run_id)]
    assert first.split()[4] == f"{RUNS[0].error:.2f}"
    assert run(path, "--limit", "1").splitlines()[1].split() == shown[1].split()
    result = CliRunner().invoke(APP, [str(path), "--table", "curves"])
    assert "40 of" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--sql", "select 1", "--where", "d1 = 1"], "--where: not with --sql"),
        (["--sql", "select 1", "--table", "runs"], "--table: not with --sql"),
        (["--recipe", "basic"], "--recipe: is of --table errors only"),
    ],
)
def test_options_that_do_not_go_together(path: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in refusal(path, *arguments)


def test_a_narrow_terminal_shows_what_fits(path: Path) -> None:
    text = io.StringIO()
    write_rows(select(ResultStore(path)), "table", text, width=40)
    lines = text.getvalue().splitlines()
    assert max(map(len, lines[:-1])) <= 40
    assert lines[0].split() == ["run_id", "architecture"]
    assert " ".join(lines).count("journal") == 1


QUERY = """
import os, sys
import anynet_study.cli.query, anynet_study.store, pandas, rich.table
from anynet_study.cli import main
for form in ("table", "csv", "json"):
    child = os.fork()
    if child == 0:
        sys.argv = ["anynet-study", "query", sys.argv[1], "--table", "curves", "--format", form]
        main()
        sys.exit()
    print(form, os.waitpid(child, 0)[1], file=sys.stderr)
"""


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_failure(path: Path) -> None:
    """Processes of their own, which end as every Python does, but import once."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", QUERY, path], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "table 0\ncsv 0\njson 0\n")


def test_every_run_shows_what_made_it(path: Path) -> None:
    columns = "run_id,code_version,torch_version,device,host,started,seconds,journal"
    rows = json.loads(run(path, "--json", "--columns", columns))
    one = next(row for row in rows if row["run_id"] == RUNS[3].run_id)
    assert one == {
        **{name: getattr(RUNS[3], name) for name in columns.split(",")[:-1]},
        "journal": "worker-0.arrow",
    }
    assert datetime.fromtimestamp(one["started"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ") in run(
        path, "--columns", "run_id,started"
    )
    made = {
        row["name"]: row["value"]
        for row in json.loads(run(path, "--table", "provenance", "--json"))
    }
    assert made["sweep"] == "x: 1"
    assert set(made) == {"sweep", "created"}
    assert "worker-0.arrow" in run(path, "--table", "journals")


@pytest.mark.slow
def test_sql_from_the_command_line(path: Path, tmp_path: Path) -> None:
    run(path, "--sql", "select * from curves", "-o", tmp_path / "curves.parquet")
    assert len(pd.read_parquet(tmp_path / "curves.parquet")) == sum(one.epochs for one in RUNS)
    assert len(run(path, "--sql", "from runs", "--limit", "3", "--format", "csv").splitlines()) == 4
    shown = run(path, "--sql", "select 1 as a, null as b, [1, 2] as c, 'x' as d, 0.5::float as e")
    assert shown.split() == ["a", "b", "c", "d", "e", "1", "[1,", "2]", "x", "0.5000"]


def test_rows_are_selected_and_written_without_pandas(path: Path, tmp_path: Path) -> None:
    commands = (
        ("--where", "dataset = 'B' or flops > 1", "--columns", "run_id,flops"),
        ("--sql", "select stem, min(error) from runs group by stem", "--format", "csv"),
        ("--table", "curves"),
        ("--table", "evaluations", "-o", "x.csv"),
        ("--table", "trials"),
        ("--table", "provenance"),
    )
    found = imported(tmp_path, *(("query", path, *arguments) for arguments in commands))
    assert (tmp_path / "x.csv").exists()
    assert not {"pandas", "scipy", "torch"} & found


def test_csv_has_every_number_in_its_own_digits() -> None:
    values = "0.1::float as a, 20.0 :: double as b, 'NaN'::double as c, null::int as d, true as e"
    text = io.StringIO()
    write_rows(run_sql_without_tables(f"select {values}, 'x,\"y' as f, 2 as g"), "csv", text)
    assert text.getvalue() == 'a,b,c,d,e,f,g\n0.1,20.0,,,True,"x,""y",2\n'


def test_json_of_any_value_is_json() -> None:
    values = "'NaN'::double as a, 'inf'::double as b, -'inf'::double as c, date '2026-01-02' as d"
    text = io.StringIO()
    rows = run_sql_without_tables(f"select {values}, {{'x': ['inf'::double]}} as e, true as f")
    _write_json(rows, text)
    assert json.loads(text.getvalue()) == [
        {
            **{"a": None, "b": math.inf, "c": -math.inf, "d": "2026-01-02"},
            **{"e": {"x": [math.inf]}, "f": True},
        }
    ]
    assert "Infinity" not in text.getvalue()


def run_sql_without_tables(statement: str) -> pa.Table:
    with engine() as connection:
        return fetch(connection, statement)


@pytest.mark.slow
def test_several_studies_are_read_as_one(path: Path, tmp_path: Path) -> None:
    runs = [record(3, error=99.5), record(30)]
    other, _ = make_store(tmp_path / "other", runs)
    result = CliRunner().invoke(APP, [str(path), str(other)])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["store", "architecture"]
    assert len(lines) == 1 + len(RUNS) + 1
    assert "note: runs whose error is not the same in all stores: 1, such as" in result.stderr
    rows = json.loads(run(path, other, "--json", "--where", "store = 'other'"))
    assert [row["run_id"] for row in rows] == [runs[1].run_id]
    shape = {
        (len(row), row["architecture"])
        for row in json.loads(run(path, other, "--table", "errors", "--json"))
    }
    assert shape == {(4, name) for name in ARCHITECTURES}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_rows_beyond_a_batch_are_all_written(
    path: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anynet_study.cli.rows.BATCH_ROWS", 5)
    run(path, "-o", tmp_path / f"x.{form}", "--columns", "run_id,error,architecture")
    back = getattr(pd, f"read_{form}")(
        tmp_path / f"x.{form}", **{"csv": {"dtype": {"run_id": str}}}.get(form, {})
    )
    whole = selected(ResultStore(path), columns=["run_id", "error", "architecture"])
    if form == "json":
        back = pd.DataFrame(json.loads((tmp_path / "x.json").read_text()))
    assert back["run_id"].tolist() == whole["run_id"].tolist()
    np.testing.assert_array_equal(back["error"], whole["error"])


def test_where_no_count_of_images_is_known_there_is_no_interval(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(0), record(1, predictions=np.empty(0, np.uint16))])
    with h5py.File(out, "r+") as file:
        table = file["datasets"]
        table.attrs["columns"] = [one for one in table.attrs["columns"] if one != b"test_images"]
        del table["test_images"]
    rows = selected(
        ResultStore(out), columns=["error", "error_low", "error_high"], sort=["error_low"]
    )
    assert rows["error_low"].isna().tolist() == [False, True]
    assert rows["error_low"][0] < rows["error"][0] < rows["error_high"][0]


def test_what_curves_do_not_know_is_missing_in_conditions_too(path: Path, tmp_path: Path) -> None:
    """As NaN it would be more than any number, and not null."""
    out = tmp_path / "results.h5"
    out.write_bytes(path.read_bytes())
    with h5py.File(out, "r+") as file:
        file["curves/test_top5"][::3] = np.nan
    store = ResultStore(out)
    every = store.curves()["test_top5"]
    known = every.dropna()
    rows = selected(store, "curves", where="test_top5 >= 0", columns=["test_top5"])
    assert rows["test_top5"].tolist() == known.tolist()
    assert len(selected(store, "curves", where="test_top5 is null")) == len(store.curves()) - len(
        known
    )
