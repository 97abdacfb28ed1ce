"""Executors that are none of submitit's: real ones, each of whose workers take what is free."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
from tiny_study import RUNS, TINY

import anynet_study
from anynet_study.engine.dispatch import live_jobs, submitted_jobs
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journals

pytestmark = pytest.mark.slow


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path / "data"))
    Path("tiny.yaml").write_text(TINY)
    return StudyFolder(Path("studies/tiny"))


@contextmanager
def process_pool(_: Path) -> Iterator[Executor]:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        yield executor


@contextmanager
def dask(folder: Path) -> Iterator[Executor]:
    """Two processes of two threads: functions of one process do not share its globals."""
    distributed = pytest.importorskip("distributed")
    where = {"local_directory": folder / "dask", "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        yield executor


@contextmanager
def dask_on_slurm(folder: Path) -> Iterator[Executor]:
    distributed, jobqueue = map(pytest.importorskip, ("distributed", "dask_jobqueue"))
    options = {"cores": 1, "memory": "1GB", "processes": 1, "python": sys.executable}
    where = {"local_directory": folder / "dask", "log_directory": folder / "dask-logs"}
    with jobqueue.SLURMCluster(**options, **where, walltime="00:20:00") as cluster:
        cluster.scale(jobs=2)
        with distributed.Client(cluster) as client, client.get_executor() as executor:
            yield executor


@contextmanager
def parsl(folder: Path) -> Iterator[Executor]:
    module = pytest.importorskip("parsl")
    concurrent = pytest.importorskip("parsl.concurrent")
    config = module.Config(
        executors=[
            module.HighThroughputExecutor(
                address="127.0.0.1", max_workers_per_node=2, encrypted=False
            )
        ],
        run_dir=str(folder / "parsl"),
        strategy="none",
    )
    with concurrent.ParslPoolExecutor(config=config) as executor:
        yield executor


def statuses(study: StudyFolder) -> list[str]:
    """How runs ended, with one row for each record: none is recorded twice."""
    rows = read_journals(study.journals)
    assert len(set(rows["run_id"].to_pylist())) == len(rows)
    return list(rows["status"].to_pylist())


@pytest.mark.filterwarnings("ignore")  # those of the libraries are their own
@pytest.mark.parametrize(
    "made",
    [process_pool, dask, parsl, pytest.param(dask_on_slurm, marks=pytest.mark.slurm)],
)
def test_a_study_is_trained_by(
    study: StudyFolder,
    tmp_path: Path,
    made: Callable[[Path], "contextmanager[Executor]"],
    path_with_slurm: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if made is dask_on_slurm:
        monkeypatch.setenv("PATH", path_with_slurm)
        if subprocess.run("sinfo", shell=True, capture_output=True).returncode:
            pytest.skip("no Slurm can be reached")
    with made(tmp_path) as executor:
        futures = anynet_study.launch("tiny.yaml", executor)
        assert len(futures) == RUNS
        assert [future.result(timeout=600) for future in futures] == [None] * RUNS
        assert anynet_study.launch("tiny.yaml", executor) == []
    assert statuses(study) == ["completed"] * RUNS
    assert live_jobs(study) == []
    workers = list(submitted_jobs(study.jobs))
    assert sum(len(job.runs) for job in workers) == RUNS
    assert len(workers) < RUNS, "the last functions found nothing to do"
