"""`anynet_study.launch` with executors of one's own: for Slurm, this machine and this process."""

import re
import time
from copy import deepcopy
from pathlib import Path

import pytest
import submitit
from fake_slurm import FakeSlurm
from tiny_study import RUNS, TINY

import anynet_study
from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch import Recorded, find_log, live_jobs, submitted_jobs
from anynet_study.engine.dispatch.launch import FOREVER_MIN
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.sweep.launch import OPTIONS


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    Path("tiny.yaml").write_text(TINY + "launch: {job_minutes: 0.00001, workers: 2}\n")
    return StudyFolder(Path("studies/tiny"))


def statuses(study: StudyFolder) -> list[str]:
    return list(Recorded.read(study.journals).runs.values())


# submitit leaves the files of a debug job's log open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_debug_executor_trains_in_this_process(study: StudyFolder) -> None:
    executor = submitit.DebugExecutor("mine")
    jobs = anynet_study.launch("tiny.yaml", executor)
    assert statuses(study) == []
    for job in jobs:
        assert isinstance(job, submitit.DebugJob)
        assert job.result() is None
    assert statuses(study) == ["completed"] * RUNS
    assert anynet_study.launch("tiny.yaml", executor) == []
    assert list(submitted_jobs(study.jobs)) == []  # it left nothing that may live on


@pytest.mark.parametrize("kind", [submitit.LocalExecutor, submitit.AutoExecutor])
def test_a_local_executor_starts_as_many_workers_as_this_machine_carries(
    study: StudyFolder, monkeypatch: pytest.MonkeyPatch, kind: type[submitit.Executor]
) -> None:
    minutes = list[int]()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(kind, "submit", lambda it, _: minutes.append(it.parameters["timeout_min"]))
    executor = kind("mine", **({} if kind is submitit.LocalExecutor else {"cluster": "local"}))
    anynet_study.launch(Sweep.load(Path("tiny.yaml"), ["launch.workers=500"]), executor)
    assert minutes == [FOREVER_MIN] * 3


@pytest.mark.slow
def test_workers_of_a_local_executor_are_known(study: StudyFolder) -> None:
    executor = submitit.LocalExecutor("mine")
    jobs = anynet_study.launch("tiny.yaml", executor)
    assert executor.parameters == {}
    assert len(jobs) == 2  # launch.workers: each starts at once
    until = time.monotonic() + 300
    while len(live_jobs(study)) < 2 and not statuses(study):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert anynet_study.launch("tiny.yaml", executor) == []  # all is under way
    for job in jobs:
        assert job.result() is None
    assert statuses(study) == ["completed"] * RUNS
    assert live_jobs(study) == []
    known = list(submitted_jobs(study.jobs))
    logs = [find_log(study, known, job.job_id) for job in known]
    assert sum(line.endswith(" begins") for log in logs for line in log.lines()) == RUNS


@pytest.mark.slow
def test_a_worker_does_not_outlive_the_function_of_an_executor(study: StudyFolder) -> None:
    sweep = Sweep.load(Path("tiny.yaml"), ["launch.workers=1"])
    (job,) = anynet_study.launch(sweep, submitit.LocalExecutor("mine"))
    until = time.monotonic() + 300
    while not study.journals.exists() or not statuses(study):
        assert time.monotonic() < until
        time.sleep(0.1)
    (live,) = live_jobs(study)
    worker = live.job.process
    assert worker is not None
    calling = worker.parent()
    assert calling is not None
    calling.kill()
    worker.wait(120)
    assert job.exception() is not None


@pytest.mark.parametrize("kind", [submitit.AutoExecutor, submitit.SlurmExecutor])
def test_a_slurm_executor_keeps_what_its_user_said(
    study: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    slurm = FakeSlurm(tmp_path / "slurm", monkeypatch)
    theirs = {"partition": "gpu", "comment": "thesis", "setup": ["module load cuda"], "time": 77}
    if kind is submitit.AutoExecutor:
        executor = submitit.AutoExecutor("mine", cluster="slurm")
        executor.update_parameters(**{f"slurm_{name}": it for name, it in theirs.items()})
    else:
        executor = submitit.SlurmExecutor("mine")
        executor.update_parameters(**theirs)
    before = deepcopy(executor.parameters)
    jobs = anynet_study.launch("tiny.yaml", executor)
    assert [job.job_id for job in jobs] == slurm.queue == [f"1_{task}" for task in range(RUNS)]
    assert executor.parameters == before
    script = slurm.scripts[1]
    assert slurm.option("partition") == ["gpu"]
    assert slurm.option("time") == ["77"]
    assert re.search("^#SBATCH --comment='thesis anynet-study:[0-9a-f]{12}'$", script, re.M)
    assert script.index("module load cuda") < script.index("export PYTHONPATH=")
    assert f"--output={tmp_path}/mine/%A_%a_0_log.out" in script
    assert len(live_jobs(study)) == RUNS
    assert anynet_study.launch("tiny.yaml", executor) == []
    log = find_log(study, list(submitted_jobs(study.jobs)), "1_3")
    assert log.out == jobs[3].paths.stdout
    assert submitit.helpers.DelayedSubmission.load(
        jobs[3].paths.submitted_pickle
    ).function.study_folder == str(study.folder.absolute())


def test_a_folder_that_slurm_cannot_be_told_of_is_refused(study: StudyFolder) -> None:
    with pytest.raises(UserError, match="backslash or line break in a path as something else"):
        anynet_study.launch("tiny.yaml", submitit.LocalExecutor("a\\b"))
    assert not study.folder.exists()


def test_what_has_no_submit_is_refused(study: StudyFolder) -> None:
    with pytest.raises(UserError, match=r"int has no submit\(function\); legal: executors of"):
        anynet_study.launch("tiny.yaml", 3)  # type: ignore[arg-type]
    assert not study.folder.exists()


def test_a_sweep_may_set_all_that_submitit_takes_for_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """submitit tells what it takes when it is given something else, where there is a Slurm."""
    FakeSlurm(tmp_path / "slurm", monkeypatch)
    executor = submitit.SlurmExecutor(tmp_path)
    with pytest.raises(ValueError, match="Valid parameters are") as caught:
        executor.update_parameters(unheard_of=1)
    legal = set(re.findall(r"^ *- (\w+)", str(caught.value), re.MULTILINE))
    assert len(legal) > 20
    not_of_jobs = {"map_count", "num_gpus"}  # given by itself; one that it warns of
    of_an_auto_executor = {"name", "timeout_min", "mem_gb", "tasks_per_node"}
    of_its_constructor = {"max_num_timeout", "python"}
    assert legal - not_of_jobs == set(OPTIONS) - of_an_auto_executor - of_its_constructor
