"""Finished runs, handed over to TensorBoard and Weights & Biases."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from store_factory import record, write_journal

from anynet_study.core.errors import UserError
from anynet_study.store import Seen, finished_runs, to_tensorboard, to_wandb

CURVES = {"test_error": np.array([40, 30], np.float32), "train_loss": np.array([2, np.nan])}


def test_each_finished_run_is_handed_over_once(tmp_path: Path) -> None:
    seen: Seen = {}
    assert not list(finished_runs(tmp_path, seen))
    write_journal(tmp_path / "a.arrow", [record(0), record(1)])
    assert len(list(finished_runs(tmp_path, seen))) == 2
    write_journal(tmp_path / "b.arrow", [record(2)])
    assert [run.run_id for run in finished_runs(tmp_path, seen)] == [record(2).run_id]


def test_event_files_have_the_curves_and_are_written_once(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = record(0, curves=CURVES)
    send = to_tensorboard(tmp_path)
    send(run)
    place = tmp_path / run.dataset / run.recipe / f"{run.architecture}-{run.replicate}"
    files = list(place.iterdir())
    send(run)
    assert list(place.iterdir()) == files
    assert list(place.parent.iterdir()) == [place]
    read = events.EventAccumulator(str(place))
    read.Reload()
    scalars = {
        name: [(it.step, it.value) for it in read.Scalars(name)] for name in read.Tags()["scalars"]
    }
    assert scalars == {"test_error": [(1, 40), (2, 30)], "train_loss": [(1, 2)]}


class FakeRun:
    """What `wandb.init` gives, as far as it is used."""

    def __init__(self, **told: Any) -> None:
        self.told, self.logged, self.summary = told, [], {}  # type: ignore[var-annotated]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def log(self, values: dict[str, float], step: int) -> None:
        self.logged.append((step, values))


def test_a_project_gets_the_curves_under_the_run_s_own_id(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[FakeRun] = []

    def init(**told: Any) -> FakeRun:
        begun.append(FakeRun(**told))
        return begun[-1]

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init, Settings=dict))
    run = record(0, curves=CURVES, spec='{"seed": 0}')
    to_wandb("mine")(run)
    (kept,) = begun
    assert (kept.told["id"], kept.told["project"]) == (run.run_id, "mine")
    assert kept.told["config"] == {"seed": 0, "replicate": run.replicate}
    assert kept.logged == [(1, {"test_error": 40, "train_loss": 2}), (2, {"test_error": 30})]
    assert kept.summary == {"error": run.error, "status": "completed"}


def test_what_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"pip install 'anynet-study\[wandb\]'"):
        to_wandb("mine")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'anynet-study\[tensorboard\]'"):
        to_tensorboard(tmp_path)
