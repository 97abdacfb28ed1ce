"""`serve`: a page that follows a study's files, only reads, and answers this machine alone."""

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from socketserver import BaseServer

import numpy as np
import pandas as pd
import pytest
from browser import chromium_page
from command import train
from tiny_study import RUNS, TINY, tree

from anynet_study.analysis.apr import fisher_interval
from anynet_study.cli import watching
from anynet_study.cli.concerns import concerns_so_far
from anynet_study.cli.status import status_lines
from anynet_study.cli.watching import matrix_of, watch_server
from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch import JournalReader, current_status, open_study
from anynet_study.store import JournalWriter, read_journal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained study of 4 architectures x 3 datasets."""
    home = tmp_path_factory.mktemp("watched")
    (home / "tiny.yaml").write_text(TINY)
    train(home, "tiny.yaml")
    return home / "studies" / "tiny"


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    with watch_server(open_study(folder), 0, status_lines) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


def answer(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read()


@pytest.mark.slow
def test_the_state_follows_the_journals_and_nothing_is_written(folder: Path, port: int) -> None:
    before = tree(folder)
    state = json.loads(answer(port, "/state")[1])
    assert state["datasets"] == [["digits", 4, 4], ["digits-2", 4, 4], ["blobs", 4, 4]]
    assert f"missing of {RUNS}" in state["lines"][0]
    assert (state["failures"], state["active"]) == ([], False)
    assert {pair[3] for pair in state["matrix"]["pairs"]} == {4}
    study = open_study(folder)
    reader = JournalReader(study.folder.journals)
    reader.read()
    assert state["concerns"] == [str(it) for it in concerns_so_far(study, reader)] != []
    assert len(state["curves"][-1]["errors"]) == 1
    assert tree(folder) == before


@pytest.mark.slow
def test_it_answers_this_machine_and_only_reading(folder: Path, port: int) -> None:
    assert answer(port, "/")[0] == 200
    assert answer(port, "/sweep.yaml")[0] == 404
    assert answer(port, "/state", "POST")[0] == 501
    assert answer(port, "/state", Host="evil.example")[0] == 403
    with pytest.raises(UserError, match=f"--port: {port} is not available"):
        watch_server(open_study(folder), port, status_lines)


@pytest.mark.slow
def test_a_browser_that_leaves_is_no_error(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[object] = []
    monkeypatch.setattr(BaseServer, "handle_error", lambda *request: wrong.append(request))
    with socket.create_connection(("127.0.0.1", port)) as leaving:
        leaving.sendall(f"GET /state HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert answer(port, "/state")[0] == answer(port, "/state")[0] == 200
    assert not wrong


@pytest.mark.slow
def test_the_page_shows_a_failure_that_is_recorded_while_it_is_open(
    folder: Path, port: int
) -> None:
    from playwright.sync_api import expect

    with chromium_page() as page:
        page.set_viewport_size({"width": 420, "height": 900})
        page.goto(f"http://127.0.0.1:{port}/")
        expect(page.locator("#lines")).to_contain_text("12 completed", timeout=120_000)
        assert page.evaluate("document.documentElement.scrollWidth") == 420
        assert page.evaluate("watching.matrix.names.length") == 3
        expect(page.locator("#shared")).to_contain_text("errors of 4 architectures")
        expect(page.locator("#concerns")).to_contain_text("Not shown to do better than guessing")
        one = read_journal(next(folder.glob("journals/*.arrow"))).records[0]
        with JournalWriter(folder / "journals" / "other.arrow") as writer:
            failed = {"status": "failed", "failure_kind": "oom", "message": "<b>no room</b>"}
            again = {"started": one.started + 1e6, "error": float("nan"), "curves": {}}
            writer.append(replace(one, **failed, **again))
        expect(page.locator("#failures")).to_contain_text("<b>no room</b>", timeout=120_000)
    (folder / "journals" / "other.arrow").unlink()


@pytest.mark.slow
def test_names_of_strangers_are_text_on_the_page(folder: Path, port: int) -> None:
    """A journal from elsewhere may call its networks, datasets and failures anything."""
    from playwright.sync_api import expect

    evil = (
        "</script><img src=x onerror='window.evil=1'><script>window.evil=1</script>\x1b[31m\u202e"
    )
    records = read_journal(next(folder.glob("journals/*.arrow"))).records
    with JournalWriter(folder / "journals" / "theirs.arrow") as writer:
        failed = {"status": "failed", "failure_kind": "oom", "message": evil, "curves": {}}
        later = {"started": records[0].started + 1e6}
        writer.append(replace(records[0], **failed, **later, error=float("nan"), dataset=evil))
        writer.append(replace(records[1], architecture=evil, dataset=evil, **later))
    try:
        with chromium_page() as page:
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(f"http://127.0.0.1:{port}/")
            expect(page.locator("#failures")).to_contain_text("window.evil=1", timeout=120_000)
            assert evil[:30] in page.evaluate("watching.state.curves.at(-1).name")
            assert page.evaluate("window.evil") is None
            assert page.evaluate("document.images.length") == 0
            assert {url.rpartition("/")[2] for url in asked} <= {"", "state", "favicon.ico"}
    finally:
        (folder / "journals" / "theirs.arrow").unlink()


def test_correlations_are_of_the_architectures_that_have_both() -> None:
    generator = np.random.default_rng(0)
    errors = pd.DataFrame(generator.normal(size=(9, 3)), columns=["a", "b", "c"]).rename(
        "m{}".format
    )
    errors.iloc[:2, 1] = np.nan
    errors.iloc[:6, 2] = np.nan  # three architectures have no correlation
    runs = errors.rename_axis("architecture").reset_index().melt("architecture", var_name="dataset")
    runs = runs.rename(columns={"value": "error"}).dropna()
    runs = runs.assign(recipe=runs["dataset"].map({"a": "basic", "b": "grid", "c": "basic"}))
    others = runs.assign(recipe="other", error=0.0)  # whose errors stand for no dataset
    every = pd.concat([runs, others]).assign(status="completed")
    found = matrix_of(every, {"a": "basic", "b": "grid", "c": "basic"})
    rho = errors[["a", "b"]].corr("spearman").iloc[0, 1]
    low, high = fisher_interval(rho, 7)
    assert found["pairs"][0] == pytest.approx([rho, float(low), float(high), 7], abs=1e-3)
    assert found["pairs"][1] == [None, None, None, 3]


@pytest.mark.slow
def test_a_silent_squeue_is_no_sign_of_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study(folder)
    silent = replace(
        current_status(study, JournalReader(study.folder.journals)), jobs_unknown="squeue is silent"
    )
    monkeypatch.setattr(watching, "current_status", lambda *_: silent)
    state = json.loads(watching.Watch(study, status_lines).state())
    assert state["active"] is None
    assert "jobs: squeue is silent" in state["lines"]
