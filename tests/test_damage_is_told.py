"""Files of a study that are damaged, exchanged or no files are told of, and change no answer."""

import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from command import train
from tiny_study import RUNS, TINY, Type, images

from anynet_study.cli import watching
from anynet_study.cli.status import status_lines
from anynet_study.cli.watching import watch_server
from anynet_study.core.errors import UserError
from anynet_study.core.sheets import csv_text
from anynet_study.data import image_names, load_dataset
from anynet_study.data.curation import read_table
from anynet_study.engine.dispatch import open_study
from anynet_study.store import (
    EvaluationWriter,
    JournalWriter,
    ResultStore,
    read_evaluations,
    read_journal,
)

pytestmark = pytest.mark.slow
STUDY = Path("studies/tiny")
SWEEP = TINY + "evaluations: {blur: {transform: blur}}\nlaunch: {scores: true}\n"
Change = Callable[[], object]
Ask = Callable[[], tuple[int, dict[str, Any]]]
POPULATION = STUDY / "population.parquet"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tiny.yaml").write_text(SWEEP)
    train(folder, "tiny.yaml")
    return folder


@pytest.fixture(autouse=True)
def here(trained: Path, type_: Type, tmp_path: Path) -> Path:
    """A copy of the study, in the current folder."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def of_runs() -> Path:
    return next(p for p in sorted((STUDY / "journals").iterdir()) if "evaluations" not in p.name)


def of_evaluations() -> Path:
    return next((STUDY / "journals").glob("*.evaluations.arrow"))


def resaved() -> None:
    pd.read_parquet(POPULATION).to_parquet(POPULATION)


def reversed_rows() -> None:
    table = pq.read_table(POPULATION)
    pq.write_table(table.take(list(range(len(table)))[::-1]), POPULATION)


def flipped() -> None:
    content = bytearray(POPULATION.read_bytes())
    content[40] ^= 4  # in what the first column holds
    POPULATION.write_bytes(content)


def of_another_study(type_: Type) -> None:
    (Path("other.yaml")).write_text(SWEEP.replace("count: 4", "count: 4\n  seed: 5"))
    assert type_("sample", "other.yaml", "name=other").code == 0
    shutil.copy("studies/other/population.parquet", POPULATION)


@pytest.mark.parametrize("change", [resaved, reversed_rows, flipped, POPULATION.unlink])
def test_verify_names_a_population_that_was_changed(change: Change, type_: Type) -> None:
    assert type_("verify", "tiny").code == 0
    change()
    told = type_("verify", "tiny")
    assert (told.code, "population.parquet: " in told.out) == (1, True), told.out
    assert "read: results.h5, 2 journals" in told.out
    assert type_("collect", "tiny").code == 2


def test_verify_names_the_population_of_another_study(type_: Type) -> None:
    of_another_study(type_)
    told = type_("verify", "tiny")
    assert told.code == 1
    assert "population.parquet: is not the population of results.h5" in told.out


def twice(path: Path, evaluations: bool, predictions: bool) -> None:
    """The last two records once more, as another machine's clock says earlier, 7 points off."""
    records = (read_evaluations if evaluations else read_journal)(path).records[-2:]
    name = "other-1-1.evaluations.arrow" if evaluations else "other-1-1.arrow"
    with (EvaluationWriter if evaluations else JournalWriter)(STUDY / "journals" / name) as journal:
        for one in records:
            off = {"error": one.error - 7} | ({"top1": one.top1 - 7} if evaluations else {})
            more = {} if predictions else {"predictions": one.predictions[:0]}
            journal.append(replace(one, started=one.started - 100, **off, **more))


@pytest.mark.parametrize("what", ["runs", "evaluations"])
def test_what_is_recorded_twice_with_other_errors_is_told(what: str, type_: Type) -> None:
    evaluations = what == "evaluations"
    twice(of_evaluations() if evaluations else of_runs(), evaluations, predictions=True)
    said = f"{what} 2 ("
    collected = type_("collect", "tiny")
    assert collected.code == 0
    assert said in collected.err
    assert "were recorded twice with different errors" in collected.err
    assert type_("report", "tiny", "--resamples", 100).code == 0
    assert said in (STUDY / "report" / "report.html").read_text()
    verified = type_("verify", "tiny")
    place = "/evaluations/top1" if evaluations else "/runs/error"
    assert (verified.code, said in verified.out) == (1, True), verified.out
    assert f"{place}: is not what the predictions of 2 (" in verified.out


def test_without_predictions_it_is_told_as_well(type_: Type) -> None:
    twice(of_evaluations(), evaluations=True, predictions=False)
    type_("collect", "tiny")
    verified = type_("verify", "tiny")
    assert "evaluations 2 (" in verified.out


PIPES = {
    "a journal": lambda: STUDY / "journals" / "new-1.arrow",
    "scores": lambda: min((STUDY / "scores").iterdir()),
    "labels of a dataset": lambda: STUDY / "datasets" / "digits" / "test_labels.npy",
    "what is said of a dataset": lambda: Path("data") / "digits" / "meta.json",
    "what a study keeps": lambda: STUDY / "datasets" / "digits" / "meta.json",
    "the population": lambda: POPULATION,
    "the store": lambda: STUDY / "results.h5",
    "a file of jobs": lambda: STUDY / "jobs" / "x.jsonl",
}


@pytest.mark.parametrize("place", PIPES)
def test_no_command_waits_for_a_pipe(place: str, type_: Type) -> None:
    path = PIPES[place]()
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    began = time.monotonic()
    codes = [
        type_(*command).code
        for command in (["verify", "tiny"], ["status", "tiny"], ["run", "tiny.yaml", "--dry-run"])
    ]
    assert time.monotonic() - began < 60
    assert codes[0] != 0 or place == "a file of jobs"


def test_a_sparse_journal_is_damage_in_bounded_memory(type_: Type) -> None:
    with (STUDY / "journals" / "big-1-1.arrow").open("wb") as file:
        file.truncate(1 << 40)  # reading it would take hours
    assert "big-1-1.arrow: damaged from byte 0" in type_("status", "tiny").out
    assert type_("verify", "tiny").code == 1


@pytest.fixture
def ask() -> Iterator[Ask]:
    """What the page of the study says."""
    server = watch_server(open_study("tiny"), 0, status_lines)
    Thread(target=server.serve_forever, daemon=True).start()

    def state() -> tuple[int, dict[str, Any]]:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        connection.request("GET", "/state")
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, json.loads(body) if answer.status == 200 else {"said": body.decode()}

    yield state
    server.shutdown()
    server.server_close()


def cut() -> None:
    path = of_runs()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage() -> None:
    path = of_runs()
    path.write_bytes(b"\x17" * path.stat().st_size)


def no_journals() -> None:
    shutil.rmtree(STUDY / "journals")


@pytest.mark.parametrize("change", [cut, garbage, no_journals, POPULATION.unlink, flipped])
def test_a_served_page_follows_files_that_are_lost(
    change: Change, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "FRESH", 0.0)
    before = ask()[1]["lines"]
    assert before[0].startswith(f"runs: {RUNS} completed")
    change()
    status, now = ask()
    assert status == 500 or not now["lines"][0].startswith(f"runs: {RUNS} completed"), now


def test_a_served_page_says_what_cannot_be_read_in_any_letters(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise UserError("\u7814\u7a76/\x1b[31m<b>: damaged\nsecond line")

    monkeypatch.setattr(watching, "current_status", unreadable)
    assert ask() == (500, {"said": "\u7814\u7a76/\\x1b[31m<b>: damaged"})


def test_slow_clients_hold_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import threading

    monkeypatch.setattr(watching, "MOST_CLIENTS", 4)
    monkeypatch.setattr(watching, "PATIENCE", 600.0)  # or they would be ended by that
    server = watch_server(open_study("tiny"), 0, status_lines)
    Thread(target=server.serve_forever, daemon=True).start()
    before = threading.active_count()
    slow = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(30)]
    for one in slow:
        one.sendall(b"GET / HTTP/1.1\r\n")
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    deadline = time.monotonic() + 30
    while threading.active_count() > before + 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before + 5
    for one in slow:
        one.close()
    server.shutdown()
    server.server_close()


def test_runs_that_meant_something_else_are_not_trained_again_unasked(type_: Type) -> None:
    old = read_journal(of_runs()).records
    shutil.rmtree(STUDY / "journals")
    (STUDY / "results.h5").unlink()
    with JournalWriter(STUDY / "journals" / "first-1-1.arrow") as journal:
        for record in old:
            spec = record.spec.replace('"semantics":2', '"semantics":1')
            journal.append(
                replace(record, spec=spec, run_id=sha256(spec.encode()).hexdigest()[:16])
            )
    why = "semantics 1, now 2"
    refused = type_("run", "tiny.yaml")
    assert (refused.code, why in refused.line, "--changed" in refused.line) == (2, True, True)
    assert why in type_("run", "tiny.yaml", "--dry-run").out
    collected = type_("collect", "tiny")
    assert (collected.code, why in collected.err) == (0, True)
    assert len(ResultStore(STUDY / "results.h5").runs()) == RUNS


def test_a_function_in_a_sweep_is_called_by_a_dry_run_only_if_that_is_said(type_: Type) -> None:
    Path("theirs.py").write_text("from pathlib import Path\n\nPath('called').touch()\n")
    named = SWEEP.replace("population:", "population:\n  networks: [theirs:net]")
    Path("theirs.yaml").write_text(named)
    told = type_("launch", "theirs.yaml", "--dry-run", "name=theirs")
    assert told.code == 2
    assert "theirs:net is a function that would be called" in told.line
    assert not Path("called").exists()
    type_("launch", "theirs.yaml", "--dry-run", "--trust", "name=theirs")
    assert Path("called").exists()


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_are_no_formulas_in_csv_and_no_orders_for_the_terminal(type_: Type) -> None:
    errors = {"=cmd|' /C calc'!A0": [10.0, 12, 14, 16, 18, 20], "b\x1b[31m": [9.0, 7, 5, 4, 3, 1]}
    models = ["=1+1", "+x", "-y", "@z", "-1.5", "plain"]
    pd.DataFrame({"model": models, **errors}).to_csv("theirs.csv", index=False)
    said = ["--error", "--percent"]
    imported = type_("import", "theirs.csv", "-o", "theirs.h5", *said)
    assert imported.code == 0, imported.err
    told = type_("query", "theirs.h5", "--table", "errors", "--format", "csv")
    cells = [line.split(",")[0] for line in told.out.splitlines()]
    assert cells[1:] == ["'=1+1", "'+x", "'-y", "'@z", "-1.5", "plain"]
    assert ",'=cmd" in told.out.splitlines()[0]
    table = type_("analyze", "theirs.h5", "--table", "correlations", "--format", "csv")
    assert "\n=" not in table.out
    plotted = type_("plot", "theirs.h5", "-o", "figures", "--format", "svg")
    assert "\x1b" not in plotted.out + plotted.err


def test_names_of_images_are_no_formulas_and_are_found_again(tmp_path: Path, type_: Type) -> None:
    """Tables of images have an apostrophe before such names, and commands read them without it."""
    images(tmp_path / "downloaded", {"=1+1": 6, "@cat": 6, "'-dog": 6})
    said = ["--from", "downloaded", "--size", 8, "--max-duplicates", 1]
    assert type_("data", "add", "pets", *said).code == 0
    assert type_("data", "folds", "pets", "--count", 2, "-o", "folds").code == 0
    fold = Path("folds/fold-1.csv")
    written = pd.read_csv(fold)
    assert set(written["class"]) == {"'=1+1", "'@cat", "''-dog"}
    assert written["image"].str.startswith("'").all()
    assert type_("data", "add", "again", *said, "--split-from", fold).code == 0
    assert (
        load_dataset("again").classes == load_dataset("pets").classes == ("'-dog", "=1+1", "@cat")
    )

    names = image_names(load_dataset("pets"), "train")
    captions = pd.DataFrame({"image": names, "caption": [Path(name).parent.name for name in names]})
    Path("captions.csv").write_text(csv_text(captions))
    terms = {"class": ["=sum", "@animal"], "term": ["1", "cat"]}
    pd.DataFrame(terms).to_csv("terms.csv", index=False)
    told = type_("data", "label", "captions.csv", "--terms", "terms.csv", "-o", "labels.csv")
    assert told.code == 0, told.err
    assert set(pd.read_csv("labels.csv")["class"].dropna()) == {"'=sum", "'@animal"}
    labels = read_table(Path("labels.csv"), ("image", "class"))
    assert list(labels["image"]) == names
    assert set(labels["class"]) == {"=sum", "@animal", ""}


def test_a_clock_that_jumps_changes_no_run(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days ahead and back while runs are trained: errors are the same, and none is lost."""
    grown = ("run", "tiny.yaml", "population.count=5", "--resamples", 100)
    shutil.copytree("studies", "others/studies")
    real, days = time.time, itertools.cycle([10, -10, 0])
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: real() + 86_400 * next(days))
        assert type_(*grown).code == 0
    assert type_("verify", "tiny").code == 0
    assert "nothing to do" in type_(*grown).out
    jumped = ResultStore(STUDY / "results.h5")
    monkeypatch.chdir("others")
    shutil.copy("../tiny.yaml", ".")
    assert type_(*grown).code == 0
    pd.testing.assert_frame_equal(jumped.errors(), ResultStore(STUDY / "results.h5").errors())
    assert len(jumped.runs()) == RUNS + 3
