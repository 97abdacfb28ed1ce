"""On a GPU: every way to train gives the same, and what does not fit is done in another way."""

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
import yaml
from training_runs import same, spec

from anynet_study.data import DatasetView
from anynet_study.dispatch.run_records import WorkerJournals
from anynet_study.dispatch.worker import Assignment, Worker
from anynet_study.store import RunRecord, read_journal
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep
from anynet_study.training.checkpoint import Checkpoint, InterruptedRunError
from anynet_study.training.cuda.failures import device_is_lost
from anynet_study.training.cuda.graphs import Program
from anynet_study.training.cuda.together import Turns, train_together
from anynet_study.training.engine import Outcome, make_trainer, steps, train
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.options import Options

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
GPU = torch.device("cuda")
FLOAT32 = Options(measured=False)
RECIPES: dict[str, dict[str, object]] = {
    "SGD": {"nesterov": True},
    "AdamW, accumulated": {"optimizer": "adamw", "lr": 0.003, "accumulation": 2},
    "resized crops, AUROC": {"crop": "resized", "resolution": 6, "flip": True, "metric": "auroc"},
}


@pytest.fixture(autouse=True)
def repeatable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels that give the same bits each time, and no measurements of earlier tests."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("change", [{"graph": False}, {"resident": False}, {"recompute": True}])
def test_other_ways_give_the_same_bits(
    view: DatasetView, recipe: dict[str, object], change: dict[str, bool]
) -> None:
    run = spec(view, **recipe)
    other = dataclasses.replace(FLOAT32, **change)  # type: ignore[arg-type]
    assert same(train(run, view, GPU, options=FLOAT32), train(run, view, GPU, options=other))


@pytest.mark.parametrize("options", [FLOAT32, dataclasses.replace(FLOAT32, resident=False)])
def test_runs_at_the_same_time_are_what_they_are_alone(view: DatasetView, options: Options) -> None:
    runs = [dataclasses.replace(spec(view), seed=seed) for seed in range(4)]
    source = DeviceImages(GPU)

    def start(number: int) -> Turns[Outcome]:
        trainer = make_trainer(runs[number], view, source, "fast", options)
        return (
            yield from steps(
                trainer, runs[number], view, Checkpoint(None, runs[number].run_id, "fast")
            )
        )

    for ended in train_together([partial(start, number) for number in range(4)], GPU):
        assert isinstance(ended.result, Outcome), ended.result
        assert same(ended.result, train(runs[ended.number], view, GPU, options=options))


def test_a_gpu_learns_the_same(view: DatasetView) -> None:
    run = spec(view, epochs=20)
    here, there = train(run, view, torch.device("cpu")), train(run, view, GPU)
    assert there.status == "completed"
    assert there.error < 40  # guessing: 83
    assert there.curves["train_loss"][0] == pytest.approx(here.curves["train_loss"][0], rel=0.02)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_measured_layers_differ_by_rounding(view: DatasetView, recipe: dict[str, object]) -> None:
    run = spec(view, **recipe)
    plain, measured = (train(run, view, GPU, options=each) for each in (FLOAT32, Options()))
    first = plain.curves["train_loss"][0]
    assert measured.curves["train_loss"][0] == pytest.approx(first, rel=0.02)


@pytest.mark.parametrize("stop", [1, 5, 9])
def test_a_run_stopped_at_any_step_goes_on_as_if_it_was_not(
    view: DatasetView, tmp_path: Path, stop: int
) -> None:
    run = spec(view, optimizer="adamw", lr=0.003)
    asked = iter(range(1, 100))
    saved = Checkpoint(tmp_path / "run.pt", run.run_id, "fast", stop=lambda: next(asked) == stop)

    def start() -> Turns[Outcome]:
        trainer = make_trainer(run, view, DeviceImages(GPU), "fast", FLOAT32)
        return (yield from steps(trainer, run, view, saved))

    (ended,) = train_together([start], GPU)
    assert isinstance(ended.result, InterruptedRunError), ended.result
    resumed = train(run, view, GPU, tmp_path / "run.pt", options=FLOAT32)
    assert same(resumed, train(run, view, GPU, options=FLOAT32))


def test_a_run_that_is_over_frees_its_memory(view: DatasetView) -> None:
    train(spec(view), view, GPU)  # libraries keep workspaces
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    train(spec(view), view, GPU)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() - before < 64 << 20  # a stream's workspace


def test_what_cannot_be_recorded_raises_and_the_device_goes_on(view: DatasetView) -> None:
    value = torch.ones(1, device=GPU)

    def waits() -> Iterator[None]:
        Program(graph=True)(lambda: print(value.item()), list)
        yield

    (ended,) = train_together([waits], GPU)  # type: ignore[list-item]
    assert isinstance(ended.result, RuntimeError)
    assert not device_is_lost(GPU)
    torch.cuda.empty_cache()
    assert train(spec(view), view, GPU, options=FLOAT32).status == "completed"


def test_a_lost_device_is_told_from_others() -> None:
    code = """
import torch
from anynet_study.training.fallback import device_is_lost
gpu = torch.device("cuda")
print(device_is_lost(gpu))
try:
    torch.zeros(2, device=gpu)[torch.tensor([9], device=gpu)].sum().item()
except RuntimeError:
    print(device_is_lost(gpu))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr


# Networks on 128 pixels, hundreds of megabytes each: memory that runs short for four, not for one.
SWEEP = """
name: short
population:
  space: {base: anynetx, depths: [2, 3], widths: [32, 64], stem: cifar, stem_width: 32}
  count: 4
  resolution: 128
  classes: 10
source: digits
datasets: {digits: {per_class: 10}, blobs: {per_class: 10}}
recipes:
  basic: {steps: 3, batch_size: 64, padding: 60, resolution: 128, datasets: [digits]}
"""


def worked(folder: Path, options: Options) -> list[RunRecord]:
    sweep, study = Sweep.model_validate(yaml.safe_load(SWEEP)), StudyFolder(folder)
    study.begin(sweep, sample(sweep.population))
    given = Assignment.of(study, sweep, GPU)
    with WorkerJournals(study) as journals:
        Worker(given, options, journals).train(given.plan)
    (path,) = study.journals.glob("*.arrow")
    return sorted(read_journal(path).records, key=lambda row: row.run_id)


def test_short_of_memory_runs_are_done_fewer_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    alone = worked(tmp_path / "alone", dataclasses.replace(FLOAT32, at_once=1))
    needed = torch.cuda.max_memory_reserved()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(GPU).total_memory
    capsys.readouterr()
    torch.cuda.set_per_process_memory_fraction(min(1.0, 1.5 * needed / total))
    try:
        short = worked(tmp_path / "short", dataclasses.replace(FLOAT32, at_once=4))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert ": again with 2 at a time: " in capsys.readouterr().out
    assert [row.status for row in short] == ["completed"] * 4
    for one, other in zip(alone, short, strict=True):
        assert one.run_id == other.run_id
        assert one.error == other.error
