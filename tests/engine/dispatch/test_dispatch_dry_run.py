"""What a dry run says: what all runs cost, and jobs against some that were counted by hand."""

from pathlib import Path

import pytest
import yaml
from fake_slurm import program
from tiny_study import RUNS, TINY, Type

from anynet_study.cli.dry_run import slurm_lines
from anynet_study.data import load_dataset
from anynet_study.engine.dispatch.dry_run import START_UP_CPU, START_UP_GPU, SlurmForecast, forecast
from anynet_study.engine.dispatch.opened import OpenStudy, open_sweep
from anynet_study.engine.dispatch.slurm.site import Site
from anynet_study.engine.planning.cost import sweep_cost
from anynet_study.engine.planning.plan import Plan
from anynet_study.engine.planning.prices import CPU_CORE
from anynet_study.engine.study_folder import StudyFolder, sample
from anynet_study.engine.sweep import Sweep

HOUR = 3600.0


@pytest.fixture(autouse=True)
def _no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster on this machine would have limits of its own."""
    monkeypatch.setenv("PATH", "")


def tiny(**launch: object) -> Sweep:
    return Sweep.model_validate({**yaml.safe_load(TINY), "launch": {"cluster": "slurm", **launch}})


def forecast_of(hours: list[float], **launch: object) -> SlurmForecast:
    """Of 4 architectures x 3 datasets; `hours`: the lengths of an architecture's three runs."""
    sweep = tiny(**launch)
    plan: Plan = sweep_cost(sweep, sample(sweep.population), CPU_CORE).plan
    assert len(plan) == RUNS
    plan = plan.with_seconds(length * HOUR for length in hours * 4)
    return forecast(StudyFolder(Path("studies/tiny")), sweep, plan, Site())


def test_jobs_and_their_lengths() -> None:
    # Each architecture: 1 + 2 hours in a job, 3 in the next.
    told = forecast_of([1, 2, 3], job_minutes=180, slurm={"cpus_per_task": 2})
    assert (told.jobs, told.arrays, told.unit) == (8, 1, "core-hours")
    assert told.longest_job == told.mean_job == 3 * HOUR + START_UP_CPU
    assert told.hours == pytest.approx(2 * 8 * (3 + START_UP_CPU / HOUR))
    assert told.start_up == pytest.approx(START_UP_CPU / (3 * HOUR + START_UP_CPU))
    assert (told.at_once, told.done_in) == (8, told.longest_job)
    assert told.limit == 360
    assert "#SBATCH --array=0-7%8" in told.sbatch


def test_short_jobs_are_warned_of_where_they_could_be_longer() -> None:
    minutes = 1 / 60
    many = forecast_of([minutes] * 3, job_minutes=1)
    assert many.jobs == 12
    lines = slurm_lines(many, tiny(job_minutes=1))
    assert lines[0] == "12 Slurm jobs in 1 array, of 1 min 05 s on average, 1 min 05 s at most"
    assert "longer than 1 minutes (launch.job_minutes)" in lines[3]
    whole = forecast_of([minutes] * 3, job_minutes=120)
    lines = slurm_lines(whole, tiny(job_minutes=120))
    assert lines[0].startswith("1 Slurm job in 1 array")
    assert len(lines) == 3  # all there is is in one job


def test_no_more_jobs_run_at_once_than_allowed() -> None:
    told = forecast_of([1, 1, 4], job_minutes=60, slurm={"array_parallelism": 2})
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
    told = forecast_of([2, 2, 2], job_minutes=1, slurm=slurm)
    assert told.unit == "GPU-hours"
    times = 3  # 50 minutes each
    assert told.mean_job == pytest.approx(2 * HOUR + times * START_UP_GPU)
    assert told.hours == pytest.approx(12 * told.mean_job / HOUR)


@pytest.mark.parametrize("gpu", [False, True])
def test_a_silent_controller_is_waited_for_once_and_told_of(
    tmp_path: Path,
    type_: Type,
    monkeypatch: pytest.MonkeyPatch,
    path_without_slurm: str,
    gpu: bool,
) -> None:
    """Every command of Slurm notes that it was called, and hangs."""
    (tmp_path / "bin").mkdir()
    for name in ("scontrol", "sinfo", "squeue"):
        program(tmp_path / "bin", name, f"echo $0 >>{tmp_path}/asked; exec sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{path_without_slurm}")
    monkeypatch.setattr("anynet_study.engine.dispatch.dry_run.PATIENCE", 0.2)
    (tmp_path / "sweep.yaml").write_text(TINY)
    on_gpu = ["launch.slurm.gpus_per_node=1"] * gpu
    told = type_("launch", "sweep.yaml", "--cluster", "slurm", "--dry-run", *on_gpu)
    assert told.code == 0, told.err
    said = "Slurm does not answer; its usual limits are assumed (scontrol does not answer)\n"
    assert told.out.count(said) == 1
    assert (tmp_path / "asked").read_text().split() == [f"{tmp_path}/bin/scontrol"]


EVALUATIONS = """
evaluations:
  turned: {transform: rotation}
  mirrored: {transform: horizontal_flip}
  five: {classes: 5, datasets: [digits]}
"""


def opened(folder: Path, text: str) -> OpenStudy:
    path = folder / "sweep.yaml"
    path.write_text(text)
    return open_sweep(path, [])


@pytest.fixture
def tested(tmp_path: Path, type_: Type) -> OpenStudy:
    return opened(tmp_path, TINY + EVALUATIONS)


def test_the_dry_run_prices_evaluations_as_the_plan_does(tested: OpenStudy, type_: Type) -> None:
    priced = sweep_cost(tested.sweep, tested.population, CPU_CORE)
    lengths = [[run.seconds for run in plan] for plan in (priced.plan, tested.plan)]
    assert lengths[0] == pytest.approx(lengths[1])
    assert {item.dataset: item.evaluations for item in priced.items} == {
        "digits": 12,
        "digits-2": 8,
        "blobs": 8,
    }
    without = tested.sweep.model_copy(update={"evaluations": {}})
    bare = sweep_cost(without, tested.population, CPU_CORE)
    for item, trained in zip(priced.items, bare.items, strict=True):
        assert 0 < item.evaluation_seconds == pytest.approx(item.seconds - trained.seconds)
    told = type_("run", "sweep.yaml", "--dry-run").out
    assert "of which 28 further evaluations: " in told
    assert (
        "further evaluations" not in type_("run", "sweep.yaml", "--dry-run", "evaluations={}").out
    )


def test_without_data_the_catalog_says_how_many_images(type_: Type) -> None:
    content = yaml.safe_load(TINY) | {
        "source": "imagenet",
        "datasets": {
            "imagenet": None,
            "imagenet-100": {"base": "imagenet", "classes": 100},
            "concrete": None,
        },
        "evaluations": {
            "v2": {"test_set": "imagenetv2"},
            "fifty": {"classes": 50, "transform": "blur"},
        },
    }
    sweep = Sweep.model_validate(content)
    population = sweep.population.population()
    priced = sweep_cost(sweep, population, CPU_CORE)
    found = {
        it.dataset: [(test.images, test.transform, test.classes) for test in it.tests]
        for it in priced.plan.settings
    }
    assert found == {
        "imagenet": [(10_000, "identity", 1000), (2_500, "blur", 1000)],
        "imagenet-100": [(1_000, "identity", 100), (2_500, "blur", 100)],
        "concrete": [],
    }


def test_a_test_set_that_nobody_knows_is_told_before_anything_is_there(type_: Type) -> None:
    Path("sweep.yaml").write_text(TINY + "evaluations: {far: {test_set: imagenetv9}}\n")
    told = type_("run", "sweep.yaml", "--dry-run")
    assert (told.code, "evaluations.far: no dataset 'imagenetv9'" in told.err) == (2, True)


@pytest.mark.parametrize("verb", ["run", "launch"])
def test_it_writes_nothing_and_says_what_it_says_with_data(type_: Type, verb: str) -> None:
    Path("sweep.yaml").write_text(TINY + "evaluations: {far: {test_set: gratings}}\n")
    told = type_(verb, "sweep.yaml", "launch.cluster=slurm", "--dry-run")
    assert (told.code, "12 runs" in told.out) == (0, True), told.err
    assert [str(path) for path in Path().rglob("*")] == ["sweep.yaml"]
    for name in ("digits", "gratings", "blobs"):
        load_dataset(name)
    assert type_(verb, "sweep.yaml", "launch.cluster=slurm", "--dry-run").out == told.out
