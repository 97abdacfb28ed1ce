"""Faults of a device at work: each run is done in a slower way, recorded once, and the same."""

import dataclasses
import errno
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from anynet_study.engine.dispatch import worker as work
from anynet_study.engine.dispatch.assignment import Assignment
from anynet_study.engine.dispatch.journalling import Trained, WorkerJournals, training_steps
from anynet_study.engine.dispatch.worker import Worker
from anynet_study.engine.models import Backend
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.study_folder import StudyFolder, sample
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import options
from anynet_study.engine.training.options import Options
from anynet_study.engine.training.together import Turns
from anynet_study.store import RunRecord, read_journal

SWEEP = """
name: faults
population:
  space: {base: anynetx, depths: [1, 1], widths: [8, 16], stem: cifar, stem_width: 8}
  count: 5
  resolution: 8
  classes: 10
source: digits
datasets: {digits: {per_class: 10}, blobs: {per_class: 10}}
recipes: {basic: {steps: 3, batch_size: 16, crop: none, datasets: [digits]}}
"""
EVALUATED = SWEEP + "evaluations: {mirrored: {transform: horizontal_flip}}\n"
EVERY_EPOCH = SWEEP.replace("steps: 3", "epochs: 2") + (
    "evaluations: {mirrored: {transform: horizontal_flip, every: 1}}\n"
)
BEGIN = Options(at_once=4, backend=Backend("plain", "", 1), bfloat16=False)
Fault = Callable[[PlannedRun, Options, int], Exception | None]


class Place:
    """A study of five runs, worked at in this process as if its device was a GPU."""

    def __init__(self, folder: Path, data: Path, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("ANYNET_DATA", str(data))
        torch.set_num_threads(1)
        self.folder, self.patch = folder, patch
        #: Options of every try.
        self.tried: list[Options] = []
        #: The runs whose checkpoints are left at the end.
        self.left: list[str] = []

    def work(
        self, name: str, fault: Fault = lambda *_: None, sweep_text: str = SWEEP
    ) -> list[RunRecord]:
        """The rows of the study; `fault` is asked for an exception before every step."""
        sweep, study = (
            Sweep.model_validate(yaml.safe_load(sweep_text)),
            StudyFolder(self.folder / name),
        )
        study.begin(sweep, sample(sweep.population))
        given = Assignment.of(study, sweep, torch.device("cpu"))
        self.patch.setattr(work, "training_steps", self.faulty(fault))
        self.patch.setattr(work, "step_down", lambda *given: options.step_down(*given[:3], "cuda"))
        with WorkerJournals(study) as journals:
            worker, runs = Worker(given, BEGIN, journals), given.plan
            for dataset in dict.fromkeys(run.dataset for run in runs):
                worker.train(run for run in runs if run.dataset == dataset)
        (path,) = study.journals.glob("*.arrow")
        self.left = [checkpoint.stem for checkpoint in study.checkpoints.glob("*.pt")]
        assert not self.left or sweep_text == EVALUATED
        return sorted(read_journal(path).records, key=lambda row: row.run_id)

    def faulty(self, fault: Fault) -> Callable[..., Turns[Trained]]:
        def watched(run: PlannedRun, *rest: object) -> Turns[Trained]:
            options = next(one for one in rest if isinstance(one, Options))
            self.tried.append(options)
            trained, step = training_steps(run, *rest), 0  # type: ignore[arg-type]
            while True:
                if (error := fault(run, options, step)) is not None:
                    raise error
                try:
                    next(trained)
                except StopIteration as end:
                    result: Trained = end.value
                    return result
                step += 1
                yield

        return watched


Numbers = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Numbers:
    with pytest.MonkeyPatch.context() as patch:
        rows = numbers(Place(tmp_path_factory.mktemp("study"), data, patch).work("undisturbed"))
    assert [row[1] for row in rows] == ["completed"] * 5
    return rows


@pytest.fixture
def place(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, data, monkeypatch)


def numbers(rows: list[RunRecord]) -> Numbers:
    return [(row.run_id, row.status, row.error, row.predictions.tolist()) for row in rows]


@pytest.mark.slow
def test_short_of_memory_less_and_less_is_asked_for(
    place: Place, undisturbed: Numbers, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(run: PlannedRun, options: Options, step: int) -> Exception | None:
        return None if options.recompute else torch.OutOfMemoryError("CUDA out of memory. Tried")

    assert numbers(place.work("disturbed", fault)) == undisturbed
    said = [line for line in capsys.readouterr().out.splitlines() if ": again with " in line]
    steps = ["2 at a time", "1 at a time", "datasets streamed", "activations computed twice"]
    assert [line.split(": again with ")[1].split(":")[0] for line in said] == steps
    assert all(line.endswith(": CUDA out of memory. Tried") for line in said)
    # All four failed at first, and two, and one, and one; then each of five is trained once.
    assert [one.at_once for one in place.tried] == [4] * 4 + [2] * 2 + [1] * 7


@pytest.mark.slow
def test_only_the_run_that_failed_is_trained_again(place: Place, undisturbed: Numbers) -> None:
    first: list[str] = []

    def fault(run: PlannedRun, options: Options, step: int) -> Exception | None:
        first.append(run.run_id)
        unsupported = options.graph and run.run_id == first[0] and step == 1
        return (
            RuntimeError("operation not permitted when stream is capturing")
            if (unsupported)
            else None
        )

    assert numbers(place.work("disturbed", fault)) == undisturbed
    eager = dataclasses.replace(BEGIN, graph=False)
    assert place.tried == [BEGIN] * 4 + [eager] * 2


@pytest.mark.slow
def test_what_one_dataset_cannot_others_are_not_denied(place: Place) -> None:
    datasets: list[str] = []

    def fault(run: PlannedRun, options: Options, step: int) -> Exception | None:
        datasets.append(run.dataset)
        short = run.dataset == datasets[0] and options.at_once > 2
        return MemoryError("for so many") if short else None

    both = SWEEP.replace("[digits]", "[digits, blobs]").replace("count: 5", "count: 2")
    rows = place.work("both", fault, both)
    assert [row.status for row in rows] == ["completed"] * 4
    assert [one.at_once for one in place.tried] == [4, 4, 2, 2, 4, 4]


def test_with_nothing_left_to_give_up_it_is_a_failure_and_the_others_go_on(place: Place) -> None:
    ids: list[str] = []

    def fault(run: PlannedRun, options: Options, step: int) -> Exception | None:
        ids.append(run.run_id)
        return MemoryError("too large") if run.run_id == ids[0] else None

    rows = place.work("disturbed", fault)
    failed = [row for row in rows if row.status == "failed"]
    assert [(row.run_id, row.failure_kind) for row in failed] == [(ids[0], "oom")]
    assert failed[0].message == "MemoryError: too large"
    assert len(rows) == 5
    assert all(np.isfinite(row.error) for row in rows if row.run_id != ids[0])


@pytest.mark.slow
def test_what_an_evaluation_lacks_memory_for_is_done_from_the_checkpoint(
    place: Place, undisturbed: Numbers
) -> None:
    calls = 0

    def evaluate(
        self: Worker, run: PlannedRun, _: torch.nn.Module, epochs: int | None, at_once: int
    ) -> Turns[None]:
        nonlocal calls
        yield
        calls += epochs is None
        if epochs is None and calls == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")

    place.patch.setattr(Worker, "_evaluate", evaluate)
    assert numbers(place.work("disturbed", sweep_text=EVALUATED)) == undisturbed
    assert calls == 6
    assert place.left == []


def test_a_lost_gpu_ends_the_worker_and_blames_no_run(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    class EndedError(BaseException):
        pass

    def end(process: int, number: int) -> None:
        if number == signal.SIGKILL:  # others look whether a process is there
            raise EndedError

    place.patch.setattr(work, "device_is_lost", lambda *_: True)
    place.patch.setattr("os.kill", end)
    seen: list[str] = []

    def fault(run: PlannedRun, options: Options, step: int) -> Exception | None:
        seen.append(run.run_id)
        return RuntimeError("CUDA error: an illegal memory access") if step == 2 else None

    with pytest.raises(EndedError):
        place.work("lost", fault)
    told = capsys.readouterr()
    assert seen
    last = told.out.splitlines()[-1]
    assert last == "the GPU was lost: CUDA error: an illegal memory access"
    assert told.err.splitlines()[-1] == "CUDA error: an illegal memory access"
    assert not list((place.folder / "lost").rglob("*.arrow"))  # nothing is recorded as failed


def test_a_full_disk_ends_the_worker_and_is_no_failure_of_the_run(place: Place) -> None:
    def fault(run: PlannedRun, options: Options, step: int) -> Exception | None:
        return OSError(errno.ENOSPC, "No space left on device") if step == 2 else None

    with pytest.raises(OSError, match="No space left"):
        place.work("full", fault)
    assert not list((place.folder / "full").rglob("*.arrow"))


@pytest.mark.parametrize("at_the_end", [True, False])
def test_an_evaluation_that_raises_is_a_failure_of_its_run_alone(
    place: Place, at_the_end: bool
) -> None:
    seen: list[str] = []

    def evaluate(
        self: Worker, run: PlannedRun, _: torch.nn.Module, epochs: int | None, at_once: int
    ) -> Turns[None]:
        yield
        if (epochs is None) != at_the_end:
            return
        seen.append(run.run_id)
        if run.run_id == seen[0]:
            raise KeyError("no such class")

    place.patch.setattr(Worker, "_evaluate", evaluate)
    rows = place.work("evaluations", sweep_text=EVALUATED if at_the_end else EVERY_EPOCH)
    failed = [row for row in rows if row.status == "failed"]
    assert [(row.run_id, row.failure_kind) for row in failed] == [(seen[0], "code")]
    # Another launch goes on from its end, and has to evaluate only.
    assert place.left == seen[:1] * at_the_end
    assert len(rows) == 5
