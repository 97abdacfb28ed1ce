import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer
from store_factory import ARCHITECTURES, datasets, failed, make_store, record
from typer.testing import CliRunner

from anynet_study.cli.query import query as command
from anynet_study.cli.rows import write_table
from anynet_study.errors import UserError
from anynet_study.store import ResultStore, query, select

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
    rows = query(
        ResultStore(path),
        where="d1 >= 2 and role in (source, target) and status = completed",
        columns=["run_id", "d1", "classes", "stem", "error"],
        sort=["-d1", "error"],
    )
    wanted = [
        (one.run_id, ARCHITECTURES.index(one.architecture) + 1, one.error)
        for one in RUNS
        if one.architecture != ARCHITECTURES[0] and one.dataset != "digits-2"
    ]
    wanted.sort(key=lambda row: (-row[1], row[2]))
    assert list(zip(rows["run_id"], rows["d1"], rows["error"], strict=True)) == wanted
    assert set(rows["stem"]) == {"cifar"}


def test_a_run_of_an_unknown_architecture_can_be_selected(tmp_path: Path) -> None:
    out, _ = make_store(tmp_path, [record(1, architecture="ffff"), record(2)])
    assert query(ResultStore(out), where="stem = ''")["architecture"].tolist() == ["ffff"]
    assert query(ResultStore(out), where="d1 = nan")["architecture"].tolist() == ["ffff"]


def test_missing_values_sort_last_and_limit_counts_rows(path: Path) -> None:
    rows = query(ResultStore(path), sort=["-error"], columns=["error"])["error"]
    assert rows.iloc[-1] != rows.iloc[-1]
    assert rows.iloc[:-1].is_monotonic_decreasing
    assert len(query(ResultStore(path), limit=3)) == 3


@pytest.mark.parametrize(
    ("table", "shape"),
    [("architectures", (3, 4)), ("datasets", (3, 11)), ("errors", (3, 4)), ("runs", (18, 31))],
)
def test_every_table(path: Path, table: str, shape: tuple[int, int]) -> None:
    rows = query(ResultStore(path), table)  # type: ignore[arg-type]
    assert rows.shape == shape
    curves = query(ResultStore(path), "curves", where="epoch = 1 and test_loss > 0")
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
    whole = query(ResultStore(path))
    for name, read in (("x.csv", pd.read_csv), ("x.parquet", pd.read_parquet)):
        run(path, "-o", tmp_path / name)
        back = read(tmp_path / name)
        assert back["error"].equals(whole["error"])
        assert list(back.columns) == list(whole.columns)
    run(path, "--table", "datasets", "--format", "json", "-o", tmp_path / "x.txt")
    assert json.loads((tmp_path / "x.txt").read_text()) == datasets().to_pylist()
    run(path, "-o", tmp_path / "plain.txt", "--columns", "message,run_id")
    assert "out of memory" in (tmp_path / "plain.txt").read_text()


def test_a_table_shows_sensible_columns_and_says_what_it_leaves_out(path: Path) -> None:
    shown = run(path, "--sort", "run_id").splitlines()
    columns = "architecture dataset replicate status error recipe run_id"
    assert shown[0].split() == columns.split()
    assert len(shown) == 19
    assert shown[2].split()[4] == f"{RUNS[0].error:.2f}"
    assert run(path, "--sort", "-error", "--limit", "1").splitlines()[1] in shown
    result = CliRunner().invoke(APP, [str(path), "--table", "curves"])
    assert "40 of" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--columns", "eror"], "did you mean error?"),
        (["--sort=-nope"], "no column 'nope'"),
        (["--where", "eror < 3"], "position 1: no column 'eror'"),
        (["--format", "parquet"], "-o FILE"),
        (["--limit", "0"], "limit 0"),
    ],
)
def test_bad_input_is_one_line(path: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in refusal(path, *arguments)


def test_a_narrow_terminal_shows_what_fits(path: Path) -> None:
    text = io.StringIO()
    write_table(select(ResultStore(path)), text, width=40)
    lines = text.getvalue().splitlines()
    assert max(map(len, lines[:-1])) <= 40
    assert lines[0].split() == ["run_id", "architecture"]
    assert " ".join(lines).count("journal") == 1


def test_no_such_store() -> None:
    assert "no such results store or study" in refusal("nowhere")


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_reader_that_has_seen_enough_is_no_failure(path: Path, form: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "anynet_study",
            "query",
            path,
            "--table",
            "curves",
            "--format",
            form,
        ],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
