"""What the benchmarks of training compare is the same work, and unfair comparisons are refused."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import spec

from anynet_study.data import DatasetView

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The modules of the benchmarks, by their last name."""
    names = [f"training.{name}" for name in ("task", "loaders", "plain", "results", "ways")]
    names += ["training.checks", "training.table", "training.__main__", "engines_agree"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        modules = [import_module(f"benchmarks.{name}") for name in names]
        yield SimpleNamespace(**{it.__name__.rpartition(".")[2]: it for it in modules})


def test_the_plain_pipelines_see_the_same_images(bench: Any, view: DatasetView) -> None:
    recipe = spec(view, flip=True).recipe
    resident = bench.loaders.Resident(view, recipe, CPU)
    images, labels = map(torch.cat, zip(*resident.test(), strict=True))
    one_by_one = bench.loaders.Images(view, "test", recipe)
    assert len(one_by_one) == len(images)
    for place in (0, 7, len(images) - 1):
        image, label = one_by_one[place]
        torch.testing.assert_close(image, images[place])
        assert label == labels[place]
    augmented, _ = bench.loaders.Images(view, "train", recipe)[3]
    batches = list(resident.train())
    assert augmented.shape == batches[0][0].shape[1:] == (3, 8, 8)
    assert [len(labels) for _, labels in batches] == [32] * 5  # the rest of 180 is dropped


@pytest.mark.parametrize("kind", ["loop", "reference"])
def test_plain_loops_count_what_they_did(bench: Any, view: DatasetView, kind: str) -> None:
    run = spec(view, epochs=2)
    if kind == "reference":
        result = bench.plain.by_reference(run, view, CPU)
    else:
        batches = bench.loaders.Resident(view, run.recipe, CPU)
        result = bench.plain.by_loop(run, view, CPU, batches, "resident")
    assert (result.run_id, result.steps, result.images) == (run.run_id, 10, 320)
    assert result.first_loss == pytest.approx(np.log(6), rel=0.1)
    assert 0 < result.error < 100


def test_results_are_read_as_they_were_written(bench: Any, tmp_path: Path) -> None:
    result = bench.results.Result("a" * 16, 10, 1280, 2.3, 60.0, 1e9, "a process")
    result.write(tmp_path)
    assert bench.results.read_results(tmp_path, [], 1280) == [result]
    (written,) = bench.results.last_written(tmp_path).items()
    assert written[0] == "a process"
    assert written[1] > 1e9


def test_images_a_second_are_those_of_each_process(bench: Any) -> None:
    def result(process: str, started: float) -> Any:
        return bench.results.Result("a" * 16, 10, 600, 2.3, 60.0, started, process)

    results = [result("one", 10.0), result("one", 12.0), result("two", 11.0)]
    turns = import_module("benchmarks.turns").Turns(
        [], slices=[(0.0, 12.0), (20.0, 30.0)]
    )  # what is between is another's turn
    found = bench.ways.images_a_second(results, turns, {"one": 22.0, "two": 26.0})
    assert found == 1200 / 4 + 600 / 7


def measured(bench: Any, error: float = 50.0, loss: float = 2.0, **changes: Any) -> Any:
    """Four runs in ten seconds, of which two are start-up, with errors around `error`."""
    results = [
        bench.results.Result(
            **{"run_id": str(run), "steps": 10, "images": 640, "first_loss": loss}
            | {"error": error + run, "started": 0.0, "process": ""}
            | changes
        )
        for run in range(4)
    ]
    return bench.ways.Measured(results, start_up=2.0, wall=10.0, images_a_second=320.0)


WORK = {str(run): (10, 640) for run in range(4)}


def rounds(bench: Any, **fast: Any) -> dict[str, list[Any]]:
    plain = {"loader": measured(bench, 49.0), "resident": measured(bench, 51.0)}
    engines = {"reference": measured(bench, 50.0), "fast": measured(bench, **fast)}
    return {name: [one] for name, one in (plain | engines).items()}


def test_a_fair_comparison(bench: Any) -> None:
    fair = rounds(bench, error=51.0, loss=2.01)
    assert bench.checks.violations(fair, WORK, 300, "cpu") == []
    assert fair["fast"][0].runs_an_hour == 3600 * 4 / 10
    (row,) = bench.table.summary([SimpleNamespace(name="fast", title="fast")], fair)
    assert row["runs_an_hour_over_loader"] == 1.0
    assert "errors 1.00 points apart (root mean square; other seeds 1.41" in bench.table.agreement(
        fair, 300
    )
    assert "52.5%" in bench.table.lines(bench.task.Task(ROOT, "cpu", 4, 1, 10), [row])[-1]


@pytest.mark.parametrize(
    ("fast", "says"),
    [
        ({"error": 55.0}, "engines differ by 5.00 points, seeds by 1.41"),
        ({"error": float("nan")}, "engines differ by nan points"),
        ({"steps": 9}, "fast: not the runs, steps or images"),
        ({"images": 512}, "fast: not the runs, steps or images"),
        ({"run_id": "0"}, "fast: not the runs, steps or images"),
    ],
)
def test_an_unfair_one_is_refused(bench: Any, fast: dict[str, Any], says: str) -> None:
    unfair = rounds(bench, **fast)
    if "run_id" in fast:  # the engine trained one network four times
        unfair["reference"] = [measured(bench, run_id="0")]
        unfair["loader"] = unfair["resident"] = unfair["reference"]
    found = bench.checks.violations(unfair, WORK, 300, "cpu")
    assert any(line.startswith(says) for line in found)


def test_the_first_step_of_the_engines_is_compared(bench: Any, view: DatasetView) -> None:
    assert 0 <= bench.checks.first_step(spec(view), view, CPU) < bench.checks.STEP_TOLERANCE["cpu"]


def test_the_fast_engine_must_repeat_itself_on_a_cpu(bench: Any) -> None:
    twice = {name: 2 * each for name, each in rounds(bench).items()}
    twice["fast"] = [twice["fast"][0], measured(bench, 50.5)]
    assert bench.checks.violations(twice, WORK, 300, "cpu") == [
        "the fast engine does not repeat itself"
    ]
    assert bench.checks.violations(twice, WORK, 300, "cuda") == []


@pytest.mark.parametrize("timm", [None, "there"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_ways_name_what_there_is(
    bench: Any, device: str, timm: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.ways, "find_spec", lambda name: timm)
    found = bench.ways.ways(device)
    names = [way.name for way in found]
    assert ("timm" in names) == (timm is not None)
    assert {*bench.table.BASELINES, *bench.checks.SEEDS, "fast"} <= set(names)
    for way in found:
        for _, module, *arguments in way.processes:
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
            if module.endswith("plain"):
                kind, _, part, parts = arguments[2:]
                assert kind in {*bench.loaders.LOADERS, "reference", "timm"}
                assert int(part) < int(parts) == len(way.processes)


def test_a_gpu_gets_rows_at_two_sizes(bench: Any) -> None:
    main = bench.__dict__["__main__"]
    options = main.parser().parse_args(["--device", "cuda", "--steps", "6"])
    small, large = main.tasks(options, Path("/nowhere"))
    assert (small.side, large.side) == (32, 224)
    assert (small.device, small.steps, small.images) == ("cuda", 6, 770)
    assert "CUDA_VISIBLE_DEVICES" not in small.environment()
    (cpu,) = main.tasks(main.parser().parse_args(["--device", "cpu"]), Path("/nowhere"))
    assert cpu.environment()["CUDA_VISIBLE_DEVICES"] == ""
    assert "OMP_NUM_THREADS" not in cpu.environment()


def test_a_task_is_planned_as_it_says(bench: Any, tmp_path: Path) -> None:
    task = bench.task.Task(tmp_path / "task", "cpu", runs=2, epochs=1, steps=1, test_images=20)
    task.prepare()
    runs = bench.__dict__["__main__"].opened(task).plan
    assert [run.dataset for run in runs] == ["images", "images"]
    assert (runs[0].spec.recipe.batch_size, runs[0].spec.recipe.resolution) == (128, 32)
    assert len({run.run_id for run in runs}) == 2


def test_engines_that_agree_are_told_from_those_that_do_not(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = bench.engines_agree
    monkeypatch.setattr(module, "RESAMPLES", 200)
    generator = np.random.default_rng(0)
    quality = generator.uniform(20, 60, 30)
    reference = quality + 3 * generator.normal(size=(2, 30))  # two seeds
    another = 20 * generator.normal(size=30)  # what the engine does to a network, at any seed
    alike = np.array([reference, reference + 0.5 * generator.normal(size=(2, 30))])
    assert module.show(alike, "alike")
    assert not module.show(np.array([reference, reference + another]), "apart")
    assert not module.show(np.array([reference, reference + 8]), "all worse")
    tau = module.compare(alike, module.tau)
    assert tau.engines > 0.95 > tau.seeds
    assert tau.difference[0] == pytest.approx(tau.engines - tau.seeds)
    middle, low, high = module.shift(np.array([reference, reference + 8]))
    assert (middle, low, high) == pytest.approx((8, 8, 8))
    assert "alike: 30 networks" in capsys.readouterr().out
