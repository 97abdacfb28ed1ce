"""What submitit calls in a job: its part of a submission, and again where it is interrupted."""

import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import submitit
from fake_slurm import program
from submitit.core.submission import process_job
from submitit.core.utils import UncompletedJobError
from submitit.helpers import DelayedSubmission
from tiny_study import TINY

from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch import ledger
from anynet_study.engine.dispatch.ledger import Call
from anynet_study.engine.dispatch.recorded import Retry
from anynet_study.engine.dispatch.work import MAX_STALLED_REQUEUES, Task
from anynet_study.engine.dispatch.worker_state import NOTED, Said, WorkerState, alive_file
from anynet_study.engine.study_folder import StudyFolder

TASKS = ("a b", "c", "d e f")
Do = Callable[..., None]
#: How often a job may hit its time limit.
TIMEOUTS = 5


class Worker:
    """Stands for training: notes its runs; may be warned of its end, and may make progress."""

    def __init__(self, study: StudyFolder, token: str) -> None:
        self.study, self.token, self.done = study, token, list[str]()
        self.warned, self.saves, self.records = False, "", False

    def train(
        self, study: StudyFolder, _: object, runs: Iterable[str], retries: object, stop: object
    ) -> None:
        assert (study.folder, retries) == (self.study.folder, {"a": Retry(2, 1)})
        assert list(study.logs.glob("12_*_0_alive")), "it gives no sign of life"
        assert os.environ["ANYNET_DATA"] == "/data"
        self.done.append(" ".join(runs))
        if self.saves:
            (study.checkpoints / f"{self.saves}.pt").touch()
        if self.records:
            study.new_journal().touch()
        if self.warned:
            signal.raise_signal(signal.SIGUSR2)


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    study = StudyFolder(tmp_path / "study")
    for folder in (study.logs, study.journals, study.checkpoints):
        folder.mkdir(parents=True)
    (study.journals / "elsewhere-7-1.arrow").touch()
    (study.checkpoints / "b.pt").touch()
    os.utime(study.checkpoints / "b.pt", (1.0, 1.0))  # of an earlier life
    study.launched_file.write_text(TINY)
    call = Call(data_root="/data", retries={"a": Retry(2, 1)})
    token = ledger.intend(study.jobs, TASKS, call=call)
    program(tmp_path, "scontrol", f"echo $@ >>{tmp_path}/requeued")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("ANYNET_DATA", "")  # put back afterwards
    monkeypatch.setenv("SLURM_JOB_ID", "13")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "12")
    monkeypatch.setenv("SUBMITIT_EXECUTOR", "slurm")
    worker = Worker(study, token)
    monkeypatch.setattr("anynet_study.engine.dispatch.worker.train_runs", worker.train)
    return worker


@pytest.fixture
def task(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Do]:
    """Does what the process of a job does: submitit's part, by its own entry point."""
    for number in range(len(TASKS)):
        submission = DelayedSubmission(Task(str(worker.study.folder), worker.token))
        submission.set_timeout(0, TIMEOUTS)  # so that each warning is taken for a time limit
        submission.dump(worker.study.logs / f"12_{number}_submitted.pkl")

    def task(number: int = 0) -> None:
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", str(number))
        process_job(worker.study.logs)

    before = {number: signal.getsignal(number) for number in (*NOTED, signal.SIGCONT)}
    yield task
    for number, handler in before.items():
        signal.signal(number, handler)


def of_us(study: StudyFolder) -> list[str]:
    """What is there beside submitit's own files."""
    return [path.name for path in study.logs.iterdir() if path.suffix != ".pkl"]


def test_each_task_does_its_part_and_leaves_no_files(worker: Worker, task: Do) -> None:
    task(2)
    task(0)
    assert worker.done == ["d e f", "a b"]
    assert of_us(worker.study) == []


def test_one_that_is_warned_of_its_end_comes_back(worker: Worker, task: Do, tmp_path: Path) -> None:
    worker.warned = True
    with pytest.raises(SystemExit):
        task(1)
    assert (tmp_path / "requeued").read_text() == "requeue 12_1\n"
    worker.warned = False
    task(1)
    assert worker.done == ["c", "c"]
    assert (tmp_path / "requeued").read_text() == "requeue 12_1\n"
    assert of_us(worker.study) == []


def lives(task: Do) -> int:
    """How often it is queued again, of ten times that it is warned."""
    for times in range(10):
        try:
            task()
        except UncompletedJobError:
            return times
        except SystemExit:
            continue
    return 10


def test_one_that_gets_nowhere_is_given_up(worker: Worker, task: Do) -> None:
    worker.warned, worker.saves = True, "other"  # no run of its own
    assert lives(task) == MAX_STALLED_REQUEUES - 1


@pytest.mark.parametrize("change", [{"saves": "b"}, {"records": True}])
def test_one_that_gets_on_comes_back_as_often_as_it_may(
    worker: Worker, task: Do, change: dict[str, object]
) -> None:
    vars(worker).update(change, warned=True)
    assert lives(task) == TIMEOUTS


def test_torch_keeps_few_of_cudnns_plans(
    worker: Worker, task: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each architecture has its own; ten thousand of them fill the memory of the host."""
    limit = "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT"
    monkeypatch.setenv(limit, "7")  # put back afterwards
    task(0)
    assert os.environ[limit] == "7"  # the user's own
    monkeypatch.delenv(limit)
    task(1)
    assert 0 < int(os.environ[limit]) < 10_000


def test_what_submitit_pickles_is_small_and_holds_no_data(tmp_path: Path) -> None:
    DelayedSubmission(Task("/a/study", "c0ffee")).dump(tmp_path / "task.pkl")
    assert (tmp_path / "task.pkl").stat().st_size < 400
    again = DelayedSubmission.load(tmp_path / "task.pkl")
    assert again.function == Task("/a/study", "c0ffee")


def test_what_goes_wrong_is_told_by_submitit(worker: Worker, task: Do) -> None:
    shutil.rmtree(worker.study.jobs)
    with pytest.raises(UserError, match="launch again"):
        task(1)
    job = submitit.SlurmJob(worker.study.logs, "12_1")
    assert worker.token in str(job.exception())
    said = Said.read(alive_file(worker.study.logs, "12_1"))
    assert said is not None
    assert worker.token in said.left


@pytest.mark.parametrize("number", NOTED)
def test_each_signal_is_noted_and_handlers_are_put_back(number: signal.Signals) -> None:
    at_first = signal.signal(number, signal.default_int_handler)
    try:
        before = [signal.getsignal(each) for each in NOTED]
        state = WorkerState()
        assert not state.requested()
        with state.listening():
            signal.raise_signal(number)
            assert state.requested()
        assert state.signal == number
        assert [signal.getsignal(each) for each in NOTED] == before
    finally:
        signal.signal(number, at_first)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        state = WorkerState()
        with state.listening():
            signal.raise_signal(signal.SIGINT)
        assert not state.requested()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
