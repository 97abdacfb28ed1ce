"""A worker's list: what others have done by now is left out, and what was short comes last."""

import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch
from scripted_study import PACKED
from test_dispatch_recorded import row
from tiny_study import TINY

from anynet_study.engine.dispatch import assignment, claims, recorded, worker
from anynet_study.engine.dispatch.opened import OpenStudy, open_sweep
from anynet_study.engine.dispatch.recorded import Recorded, Retry
from anynet_study.engine.dispatch.worker import Worker
from anynet_study.engine.dispatch.worker_state import WorkerState, alive_file
from anynet_study.engine.models import Backend
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.training.options import Options, with_less_memory
from anynet_study.store import JournalWriter, read_journal


class Place:
    """A study of 12 runs; `done` are those that a worker began, with the options it began with."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        patch.chdir(folder)
        patch.setenv("ANYNET_DATA", PACKED)
        Path("tiny.yaml").write_text(TINY)
        self.prepared: OpenStudy = open_sweep(Path("tiny.yaml"), [])
        self.study = self.prepared.folder
        self.study.begin(self.prepared.sweep, self.prepared.population)
        self.done: list[tuple[str, Options]] = []
        self.ids = self.prepared.plan.ids()
        train = Worker.train

        def watched(worker: Worker, cohort: Iterable[PlannedRun], begin: Options | None) -> None:
            runs = list(cohort)
            self.done += [(run.run_id, begin or Options()) for run in runs]
            train(worker, runs, begin)
            self.meanwhile()

        patch.setattr(Worker, "train", watched)
        patch.setattr(assignment, "LOOK_SHARE", 1e9)  # looks however long that takes

    def meanwhile(self) -> None:
        """What happens elsewhere while a cohort is trained."""

    def work(self, ids: Iterable[str], again: dict[str, Retry] | None = None) -> int:
        sweep = self.prepared.sweep
        return worker.train_runs(self.study, sweep, ids, again or {}, WorkerState())

    def record(self, *ids: str, status: str = "completed") -> None:
        """Another worker's records."""
        with JournalWriter(self.study.new_journal()) as writer:
            for run in self.prepared.plan.find(ids):
                writer.append(row(**run.named(), status=status, started=1.0))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    torch.set_num_threads(1)
    return Place(tmp_path, monkeypatch)


def test_what_another_worker_has_recorded_meanwhile_is_not_done_again(place: Place) -> None:
    first, second, third, fourth = place.ids[:4]
    place.meanwhile = lambda: place.record(second, third)  # type: ignore[method-assign]
    assert place.work([first, second, third, fourth]) == 2
    assert [run_id for run_id, _ in place.done] == [first, fourth]
    assert set(Recorded.read(place.study.journals).runs) == {first, second, third, fourth}


def test_a_worker_that_is_told_to_leave_saves_its_run(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    state, two = WorkerState(), place.ids[:2]
    with state.listening():
        signal.raise_signal(signal.SIGTERM)
        assert worker.train_runs(place.study, place.prepared.sweep, two, {}, state) == 1
    assert capsys.readouterr().out.endswith(f"{two[0]}: saved on {signal.SIGTERM!r}\n")
    assert [path.stem for path in place.study.checkpoints.iterdir()] == two[:1]
    assert not place.study.journals.exists()  # no row of a run that has not ended


def test_a_look_is_left_out_where_it_would_take_long(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "LOOK_SHARE", 1e-9)
    looks: list[int] = []
    read = recorded.JournalReader.read
    monkeypatch.setattr(recorded.JournalReader, "read", lambda it: (looks.append(1), read(it))[1])
    place.work(place.ids[:3])
    assert len(looks) == 2  # at its beginning, and before the first run
    assert len(place.done) == 3


def test_what_a_lost_worker_recorded_since_the_look_is_not_done_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It recorded a run, went on, and was killed at another one."""
    monkeypatch.setattr(assignment, "LOOK_SHARE", 1e-9)
    monkeypatch.setattr(claims.Watch, "life", lambda *_: "lost")
    study, (first, second, third) = place.study, place.ids[:3]
    study.logs.mkdir()

    def meanwhile() -> None:
        if len(place.done) == 1:
            place.record(second)
            (study.claims / f"{second}.0").write_text("there-1\n1\n\n")

    place.meanwhile = meanwhile  # type: ignore[method-assign]
    state = WorkerState(alive_file(study.logs, "here-2"))
    with state.listening():
        worker.train_runs(study, place.prepared.sweep, place.ids[:3], {}, state)
    assert [run_id for run_id, _ in place.done] == [first, third]


def test_runs_that_were_short_of_memory_come_last_with_less_of_it(place: Place) -> None:
    short, shorter, fine = place.ids[:3]
    place.record(short, shorter, status="failed")
    place.work(place.ids[:3], {shorter: Retry(1, 2), short: Retry(1, 1)})
    assert [run_id for run_id, _ in place.done] == [fine, short, shorter]
    assert [options.recompute for _, options in place.done] == [False, False, True]
    paths = place.study.journals.glob("*.arrow")
    rows = [row for path in paths for row in read_journal(path).records if row.seconds > 0]
    told = {row.run_id: row.message for row in rows if row.status == "completed"}
    given_up = "datasets streamed; activations computed twice"
    assert told == {fine: "", short: "", shorter: given_up}
    statuses = Recorded.read(place.study.journals).runs
    assert [statuses[run_id] for run_id in place.ids[:3]] == ["completed"] * 3


def test_a_job_that_comes_back_does_not_try_again_what_failed_in_it(place: Place) -> None:
    run = place.ids[0]
    place.record(run, status="failed")
    place.record(run, status="failed")
    assert place.work([run], {run: Retry(1)}) == 0
    assert place.done == []


def test_steps_of_less_memory() -> None:
    begin = Options(at_once=4)
    assert with_less_memory(begin, 0) == begin
    assert with_less_memory(begin, 1) == Options(at_once=1)
    assert with_less_memory(begin, 5) == Options(at_once=1, resident=False, recompute=True)
    gpu = Backend("rewritten", "sm_90", 1, "cuda")
    assert with_less_memory(Options(gpu, at_once=4), 1) == Options(gpu, graph=False)
