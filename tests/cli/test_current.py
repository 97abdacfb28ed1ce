"""Commands that read results read those of the journals, unless they are told not to."""

import json
import shutil
from pathlib import Path

import pytest
from command import train
from tiny_study import RUNS, TINY, Type

pytestmark = pytest.mark.slow
RESULTS = "studies/tiny/results.h5"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study whose results lack its last journal."""
    folder = tmp_path_factory.mktemp("behind")
    (folder / "tiny.yaml").write_text(TINY)
    train(folder, "tiny.yaml", "population.count=3")
    before = (folder / RESULTS).read_bytes()
    train(folder, "tiny.yaml")
    (folder / RESULTS).write_bytes(before)
    return folder


@pytest.fixture
def behind(trained: Path, type_: Type, tmp_path: Path) -> Path:
    """The results of a copy of it."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path / RESULTS


def recorded(type_: Type, *options: object) -> tuple[int, str]:
    done = type_("query", "tiny", "--sql", "select count(*) from runs", "--json", *options)
    assert done.code == 0, done.err
    (row,) = json.loads(done.out)
    return next(iter(row.values())), done.err


def test_what_the_journals_hold_is_collected_first(behind: Path, type_: Type) -> None:
    before = behind.read_bytes()
    assert recorded(type_, "--as-is") == (RUNS - 3, "")
    assert behind.read_bytes() == before
    said = f"{RESULTS}: collected, with 3 new runs\n"
    assert recorded(type_) == (RUNS, said)
    assert recorded(type_) == (RUNS, "")
    behind.unlink()
    assert recorded(type_)[0] == RUNS
    (listed,) = json.loads(type_("list", "--json").out)
    assert (listed["state"], listed["eta_seconds"]) == ("done", None)


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "tiny", "--table", "correlations", "--resamples", 100),
        ("plot", "tiny", "--figure", "heatmap", "-o", "figures", "--format", "svg"),
        ("report", "tiny", "--resamples", 100),
        ("compare", "mine=tiny", "--csv", "summary", "--resamples", 100),
        ("export", "tiny", "-o", "release"),
    ],
)
def test_so_do_the_others(behind: Path, type_: Type, command: tuple[object, ...]) -> None:
    done = type_(*command)
    assert (done.code, "with 3 new runs" in done.err) == (0, True), done.err


def test_results_that_cannot_be_collected_are_read_with_a_note(
    behind: Path, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("anynet_study.engine.stages.collect", refuse)
    count, said = recorded(type_)
    assert count == RUNS - 3
    assert "results.h5 is older than the journals, and stays so" in said


def test_a_study_that_goes_on_is_verified_as_healthy(behind: Path, type_: Type) -> None:
    done = type_("verify", "tiny", "--json")
    answer = json.loads(done.out)
    assert (answer["fine"], done.code) == (True, 0)
    assert "lacks runs that were recorded since" in json.dumps(answer["findings"])
