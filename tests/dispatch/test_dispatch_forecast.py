"""The forecast of a launch, against jobs counted by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from tiny_study import RUNS, TINY

from anynet_study.cli.price import slurm_lines
from anynet_study.dispatch.cost.prices import CPU_CORE
from anynet_study.dispatch.dry_run import START_UP_CPU, START_UP_GPU, Forecast, forecast, price
from anynet_study.dispatch.plan import Plan
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep

HOUR = 3600.0


@pytest.fixture(autouse=True)
def _no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


def tiny(**launch: object) -> Sweep:
    return Sweep.model_validate({**yaml.safe_load(TINY), "launch": {"cluster": "slurm", **launch}})


def foretold(hours: list[float], **launch: object) -> Forecast:
    """Of 4 architectures x 3 datasets; `hours`: the lengths of an architecture's three runs."""
    sweep = tiny(**launch)
    planned: Plan = price(sweep, sample(sweep.population), CPU_CORE).planned
    assert len(planned) == RUNS
    planned = replace(planned, lengths=np.tile(np.array(hours) * HOUR, (4, 1)))
    return forecast(StudyFolder(Path("studies/tiny")), sweep, planned, CPU_CORE)


def test_jobs_and_their_lengths() -> None:
    # Each architecture: 1 + 2 hours in a job, 3 in the next.
    told = foretold([1, 2, 3], job_minutes=180, slurm={"cpus_per_task": 2})
    assert (told.jobs, told.arrays, told.unit) == (8, 1, "core-hours")
    assert told.longest_job == told.mean_job == 3 * HOUR + START_UP_CPU
    assert told.hours == pytest.approx(2 * 8 * (3 + START_UP_CPU / HOUR))
    assert told.start_up == pytest.approx(START_UP_CPU / (3 * HOUR + START_UP_CPU))
    assert (told.at_once, told.done_in) == (8, told.longest_job)
    assert told.limit == 360
    assert "#SBATCH --array=0-7%8" in told.sbatch


def test_short_jobs_are_warned_of_where_they_could_be_longer() -> None:
    minutes = 1 / 60
    many = foretold([minutes] * 3, job_minutes=1)
    assert many.jobs == 12
    lines = slurm_lines(many, tiny(job_minutes=1))
    assert lines[0] == "12 Slurm jobs in 1 array, of 1 min 05 s on average, 1 min 05 s at most"
    assert "longer than 1 minutes (launch.job_minutes)" in lines[3]
    whole = foretold([minutes] * 3, job_minutes=120)
    lines = slurm_lines(whole, tiny(job_minutes=120))
    assert lines[0].startswith("1 Slurm job in 1 array")
    assert len(lines) == 3  # all there is is in one job


def test_no_more_jobs_run_at_once_than_allowed() -> None:
    told = foretold([1, 1, 4], job_minutes=60, slurm={"array_parallelism": 2})
    assert (told.jobs, told.at_once) == (12, 2)
    # In order, each where a place is free first: 1 | 1+4 ... both are busy to the end.
    lengths = [hours * HOUR + START_UP_CPU for hours in [1, 1, 4] * 4]
    places = [0.0, 0.0]
    for length in lengths:
        places[places.index(min(places))] += length
    assert told.done_in == pytest.approx(max(places))
    assert "#SBATCH --array=0-11%2" in told.sbatch


def test_a_time_limit_costs_a_start_each_time_it_is_hit() -> None:
    slurm = {"timeout_min": 60, "gpus_per_node": 1, "signal_delay_s": 600}
    told = foretold([2, 2, 2], job_minutes=1, slurm=slurm)
    assert told.unit == "GPU-hours"
    times = 3  # 50 minutes each
    assert told.mean_job == pytest.approx(2 * HOUR + times * START_UP_GPU)
    assert told.hours == pytest.approx(12 * told.mean_job / HOUR)
