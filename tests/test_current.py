"""Commands that read results read those of the journals, unless they are told not to."""

import json
from pathlib import Path

import pytest
from tiny_study import RUNS, TINY, Type

pytestmark = pytest.mark.slow


@pytest.fixture
def behind(tmp_path: Path, type_: Type) -> Path:
    """A study whose results lack its last journal."""
    (tmp_path / "tiny.yaml").write_text(TINY)
    done = type_("run", "tiny.yaml", "population.count=3", "--resamples", 100)
    assert done.code == 0, done.err
    results = tmp_path / "studies" / "tiny" / "results.h5"
    before = results.read_bytes()
    done = type_("run", "tiny.yaml", "--resamples", 100)
    assert done.code == 0, done.err
    results.write_bytes(before)
    return results


def recorded(type_: Type, *options: object) -> tuple[int, str]:
    done = type_("query", "tiny", "--aggregate", "count()", "--json", *options)
    assert done.code == 0, done.err
    (row,) = json.loads(done.out)
    return next(iter(row.values())), done.err


def test_what_the_journals_hold_is_collected_first(behind: Path, type_: Type) -> None:
    before = behind.read_bytes()
    assert recorded(type_, "--as-is") == (RUNS - 3, "")
    assert behind.read_bytes() == before
    said = "studies/tiny/results.h5: collected, with 3 new runs\n"
    assert recorded(type_) == (RUNS, said)
    assert recorded(type_) == (RUNS, "")
    behind.unlink()
    assert recorded(type_)[0] == RUNS


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "--table", "correlations"),
        ("plot", "--figure", "heatmap", "-o", "figures", "--format", "svg"),
        ("report",),
    ],
)
def test_so_do_the_others(behind: Path, type_: Type, command: tuple[str, ...]) -> None:
    name, *rest = command
    done = type_(name, "tiny", *rest, "--resamples", 100)
    assert (done.code, "with 3 new runs" in done.err) == (0, True), done.err


def test_results_that_cannot_be_collected_are_read_with_a_note(
    behind: Path, type_: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("anynet_study.stages.collect", refuse)
    count, said = recorded(type_)
    assert count == RUNS - 3
    assert "results.h5 is older than the journals, and stays so" in said


def test_a_study_that_goes_on_is_verified_as_healthy(behind: Path, type_: Type) -> None:
    done = type_("verify", "tiny", "--json")
    answer = json.loads(done.out)
    assert (answer["fine"], done.code) == (True, 0)
    assert "lacks runs that were recorded since" in json.dumps(answer["findings"])
