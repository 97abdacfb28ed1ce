"""Packing and cohorts: nothing lost, nothing twice, order kept, lengths as asked."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.engine.dispatch import pack
from anynet_study.engine.dispatch.pack import (
    cohorts,
    pack_by_length,
    pack_for_workers,
    pack_jobs,
    units,
)
from anynet_study.engine.planning.planned_run import PlannedRun
from anynet_study.engine.sweep import Launch

lengths = st.lists(st.floats(0.1, 1000), max_size=60)


def runs(seconds: list[float]) -> Any:
    scratch = SimpleNamespace(pretrained=None, architecture=None)
    return [
        SimpleNamespace(run_id=str(n), seconds=length, spec=scratch, replicate=0, place=0)
        for n, length in enumerate(seconds)
    ]


@given(lengths, st.integers(1, 9))
def test_workers_share_all_runs_in_order(seconds: list[float], workers: int) -> None:
    packed = pack_for_workers(runs(seconds), workers)
    assert len(packed) == min(workers, len(seconds))
    numbers = [[int(run.run_id) for run in part] for part in packed]
    assert sorted(number for part in numbers for number in part) == list(range(len(seconds)))
    assert all(part == sorted(part) for part in numbers)


@given(lengths.filter(bool), st.integers(1, 9))
def test_no_worker_is_busy_much_longer_than_needed(seconds: list[float], workers: int) -> None:
    busy = [sum(run.seconds for run in part) for part in pack_for_workers(runs(seconds), workers)]
    assert max(busy) <= sum(seconds) / workers + max(seconds) + 1e-6


@dataclass(frozen=True)
class Named:
    id: str


@dataclass(frozen=True)
class Spec:
    """As much of a specification as cohorts look at."""

    architecture: Named
    pretrained: "Spec | None" = None
    run_id: str = ""

    @property
    def depth(self) -> int:
        return 0 if self.pretrained is None else 1


@st.composite
def plans(draw: st.DrawFn) -> list[PlannedRun]:
    """Runs in the order of a plan, some of which are done already."""
    datasets = draw(st.integers(1, 3))
    tuned = draw(st.integers(0, 2))
    rows = [(draw(st.integers(0, 1)), number) for number in range(draw(st.integers(1, 12)))]
    runs = []
    for replicate, number in sorted(rows):
        start = Spec(Named(f"a{number}"), run_id=f"scratch/d0/a{number}/{replicate}")
        specs = [("scratch", f"d{n}", start) for n in range(datasets)]
        specs += [("tuned", f"d{n}", Spec(start.architecture, start)) for n in range(tuned)]
        for recipe, dataset, spec in specs:
            run_id = f"{recipe}/{dataset}/{spec.architecture.id}/{replicate}"
            seconds = draw(st.floats(1, 100))
            run = PlannedRun(run_id, spec, dataset, recipe, replicate, seconds, place=number)  # type: ignore[arg-type]
            runs.append(run)
    return [run for run in runs if draw(st.integers(0, 4))]


@given(plans(), st.integers(1, 5))
def test_every_run_is_in_one_cohort_of_its_like(plan: list[PlannedRun], at_once: int) -> None:
    found = list(cohorts(plan, at_once))
    runs = [run for cohort in found for run in cohort]
    assert sorted(run.run_id for run in runs) == sorted(run.run_id for run in plan)
    for cohort in found:
        assert 1 <= len(cohort) <= at_once
        assert len({(run.dataset, run.recipe, run.replicate) for run in cohort}) == 1
        lengths = [run.seconds for run in cohort]
        assert lengths == sorted(lengths)


@given(plans(), st.integers(2, 3))
def test_rows_are_complete_before_those_a_window_later(
    plan: list[PlannedRun], at_once: int
) -> None:
    with patch.object(pack, "WINDOW", 1):  # these plans have few rows
        runs = [run for cohort in cohorts(plan, at_once) for run in cohort]
    rows = list(dict.fromkeys((run.spec.architecture.id, run.replicate) for run in plan))
    windows = [rows.index((run.spec.architecture.id, run.replicate)) // at_once for run in runs]
    assert windows == sorted(windows)


@given(plans(), st.integers(1, 5), st.floats(1, 500))
def test_jobs_are_not_too_long_and_consecutive_one_at_a_time(
    plan: list[PlannedRun], at_once: int, target: float
) -> None:
    jobs = list(pack_by_length(plan, target, at_once))
    ids, packed = [run.run_id for run in plan], [run.run_id for job in jobs for run in job]
    assert sorted(packed) == sorted(ids)
    assert at_once > 1 or packed == [run.run_id for unit in units(plan) for run in unit]
    for job in jobs:
        assert len(list(units(job))) == 1 or sum(run.seconds for run in job) <= target + 1e-6


@pytest.mark.parametrize(("seconds", "together"), [(40.0, 3), (40.2, 2), (60.0, 2), (60.5, 1)])
def test_jobs_are_as_long_as_is_asked_for_in_minutes(seconds: float, together: int) -> None:
    jobs = pack_jobs(Launch(cluster="slurm", job_minutes=2.0), runs([seconds] * 6))
    assert {len(job) for job in jobs} == {together}


def test_with_room_for_all_of_a_dataset_cohorts_are_full() -> None:
    spec = Spec(Named("a"))
    plan = [
        PlannedRun(f"{dataset}/{place}", spec, dataset, "basic", 0, 10.0 + place, place=place)  # type: ignore[arg-type]
        for place in range(16)
        for dataset in ("d0", "d1", "d2")
    ]
    jobs = list(pack_by_length(plan, 200.0, 8))
    found = [len(cohort) for job in jobs for cohort in cohorts(job, 8)]
    assert found == [8] * 6
