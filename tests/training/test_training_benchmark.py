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
        yield SimpleNamespace(**{found.__name__.rpartition(".")[2]: found for found in modules})


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


def test_a_task_is_planned_as_it_says(bench: Any, tmp_path: Path) -> None:
    task = bench.task.Task(tmp_path / "task", "cpu", runs=2, epochs=1, steps=1, test_images=20)
    task.prepare()
    runs = bench.__dict__["__main__"].opened(task).plan
    assert [run.dataset for run in runs] == ["images", "images"]
    assert (runs[0].spec.recipe.batch_size, runs[0].spec.recipe.resolution) == (128, 32)
    assert len({run.run_id for run in runs}) == 2


@pytest.mark.slow
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
