"""Cohorts: every run once, alike in what they share, and what others start from before them."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from anynet_study.dispatch.pack import WINDOW, cohorts
from anynet_study.dispatch.plan import PlannedRun


@dataclass(frozen=True)
class Named:
    id: str


@dataclass(frozen=True)
class Spec:
    """As much of a specification as cohorts look at."""

    architecture: Named
    pretrained: "Spec | None" = None


@st.composite
def plans(draw: st.DrawFn) -> list[PlannedRun]:
    """Runs in the order of a plan, some of which are done already."""
    datasets = draw(st.integers(1, 3))
    tuned = draw(st.integers(0, 2))
    rows = [(draw(st.integers(0, 1)), number) for number in range(draw(st.integers(1, 12)))]
    runs = []
    for replicate, number in sorted(rows):
        start = Spec(Named(f"a{number}"))
        specs = [("scratch", f"d{n}", start) for n in range(datasets)]
        specs += [("tuned", f"d{n}", Spec(start.architecture, start)) for n in range(tuned)]
        for recipe, dataset, spec in specs:
            run_id = f"{recipe}/{dataset}/{spec.architecture.id}/{replicate}"
            seconds = draw(st.floats(1, 100))
            runs.append(PlannedRun(run_id, spec, dataset, recipe, replicate, seconds))  # type: ignore[arg-type]
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


@given(plans(), st.integers(2, 5))
def test_what_others_start_from_comes_before_them(plan: list[PlannedRun], at_once: int) -> None:
    runs = [run for cohort in cohorts(plan, at_once) for run in cohort]
    place = {run.run_id: number for number, run in enumerate(runs)}
    for run in runs:
        if run.spec.pretrained is not None:
            start = run.run_id.replace("tuned", "scratch").replace(f"/{run.dataset}/", "/d0/")
            assert place.get(start, -1) < place[run.run_id]


@given(plans())
def test_one_at_a_time_the_order_is_the_plans(plan: list[PlannedRun]) -> None:
    assert list(cohorts(plan, 1)) == [[run] for run in plan]


@given(plans(), st.integers(2, 3))
def test_rows_are_complete_before_those_a_window_later(
    plan: list[PlannedRun], at_once: int
) -> None:
    runs = [run for cohort in cohorts(plan, at_once) for run in cohort]
    rows = list(dict.fromkeys((run.spec.architecture.id, run.replicate) for run in plan))
    windows = [
        rows.index((run.spec.architecture.id, run.replicate)) // (WINDOW * at_once) for run in runs
    ]
    assert windows == sorted(windows)
