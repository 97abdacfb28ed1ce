"""What cannot be read is an error of every analysis, never a reason to leave one out."""

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import h5py
import numpy as np
import pytest
from command import in_this_process, told
from damage import damage
from small_study import evaluation_of, run_records, small_study, write_store

from anynet_study.analysis.analyses import load
from anynet_study.analysis.analyses.script import draw
from anynet_study.analysis.report import draw_figures
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, UnreadableError

#: An array, and which commands read it.
ARRAYS = {
    "architectures/d1": ("analyze", "compare", "report"),
    "architectures/flops": ("analyze", "compare", "report"),
    "curves/test_top1": ("analyze", "report"),
    "predictions/base/labels": ("analyze", "report"),
    "predictions/base/classes": ("analyze", "report"),
    "evaluations/top1": ("analyze", "report"),
}
OWN = """
from anynet_study.analysis.analysis import Analysis

OWN = Analysis(name="own", title="Own", table=lambda study: study.curves, say=None)
SAYS = Analysis(name="says", title="Says", table=lambda study: study.errors.reset_index(),
                say=lambda study, table: [str(study.curves)])
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study, generator = small_study(), np.random.default_rng(0)
    labels = np.arange(200) % 10
    records = [
        replace(record, predictions=generator.integers(0, 10, 200).astype(np.uint16))
        for record in run_records(study)
        if record.dataset == "base"
    ] + [record for record in run_records(study) if record.dataset != "base"]
    tests = [
        evaluation_of(
            one.run_id, "blur", {"content_hash": "cd" * 8}, one.error + 1, images=200, kind="shift"
        )
        for one in records
        if one.dataset == "base"
    ]
    folder = tmp_path_factory.mktemp("whole")
    return write_store(folder, study, records, evaluations=tests, truths={"base": labels}).path


def analysed(folder: Path, command: str, store: Path) -> Any:
    more = ("-o", folder / "report") if command == "report" else ()
    return told(folder, (command, store, "--resamples", 100, *more), {})


@pytest.mark.parametrize("array", ARRAYS)
def test_a_damaged_array_is_named_by_each_command_that_reads_it(
    array: str, store: Path, tmp_path: Path
) -> None:
    changed = damage(store, array, tmp_path / "changed.h5")
    for command in ARRAYS[array]:
        ended = analysed(tmp_path, command, changed)
        assert ended.returncode == 2, ended.stdout[-2000:]
        assert f"{changed}: the store is damaged: /{array}" in ended.stderr, ended.stderr
        assert ended.stdout == ""
    assert not list((tmp_path / "report").glob("*.html"))


@pytest.mark.parametrize("command", [pytest.param("analyze", marks=pytest.mark.slow), "compare"])
def test_a_read_that_fails_once_is_an_error_or_changes_nothing(
    command: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of some reads; the message is the one that HDF5 has for a call that failed."""
    read, done, fails_at = h5py.Dataset.__getitem__, 0, -1

    def counted(self: h5py.Dataset, *args: Any, **named: Any) -> Any:
        nonlocal done
        done += 1
        if done == fails_at:
            failed = "file read failed: errno = 5, error message = 'Input/output error'"
            raise OSError(f"Can't synchronously read data ({failed})")
        return read(self, *args, **named)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    whole = analysed(tmp_path, command, store).stdout
    codes = []
    for place in np.linspace(1, done, 8).astype(int):
        done, fails_at = 0, int(place)
        ended = analysed(tmp_path, command, store)
        codes.append(ended.returncode)
        if ended.returncode:
            assert f"{store}: cannot be read (Input/output error)" in ended.stderr
            assert "damaged" not in ended.stderr
        else:
            assert ended.stdout == whole
    assert 2 in codes


def test_an_own_analysis_does_not_swallow_what_cannot_be_read(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_of_damage.py").write_text(OWN)
    changed = damage(store, "curves/test_top1", tmp_path / "changed.h5")
    for name in ("OWN", "SAYS"):
        options = ("--resamples", 100, "--analysis", f"own_of_damage:{name}", "--table")
        ended = in_this_process(
            tmp_path, "analyze", changed, *options, name.lower(), expect=2 if name == "OWN" else 0
        )
        assert ("the store is damaged" in ended.stderr) == (name == "OWN")
    monkeypatch.chdir(tmp_path)
    study = load(changed, analysis="own_of_damage:SAYS", resamples=100)
    says = study.analyses["says"].say
    assert says is not None
    with pytest.raises(UnreadableError, match="/curves/test_top1"):
        says(study, study.table("says"))


def test_what_does_not_apply_is_left_out_and_a_failed_disk_is_not_damage(store: Path) -> None:
    study = load(store, resamples=100)
    with pytest.raises(DoesNotApplyError, match="no recipe is tuned"):
        study.table("tuned")
    assert study.get("tuned") is None
    assert study.known("trials") is None

    def fails() -> Any:
        raise OSError(errno.EIO, "Input/output error")

    with (
        pytest.raises(UnreadableError, match="cannot be read"),
        study.store.opened(),
    ):
        fails()


def unreadable(*_: object) -> Any:
    raise UnreadableError("results.h5: /curves/test_top1 cannot be read")


def test_a_script_of_figures_ends_where_a_table_cannot_be_read(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Study.table
    monkeypatch.setattr(
        Study, "table", lambda it, name: unreadable() if name == "tuned" else known(it, name)
    )
    given = ["script", str(store), "--resamples", "100", "--output", str(tmp_path)]
    with patch("sys.argv", given), pytest.raises(SystemExit) as ended:
        draw("tuned", source="heatmap")
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("error: results.h5: /curves/test_top1 cannot be read\n")


def test_a_figure_that_cannot_be_read_is_not_left_out(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = load(store, resamples=100)
    monkeypatch.setattr(Study, "figure", unreadable)
    with pytest.raises(UnreadableError, match="/curves/test_top1"):
        draw_figures(study, tmp_path / "figures", ["heatmap"])
