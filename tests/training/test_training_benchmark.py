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
    assert tau.ways > 0.95 > tau.seeds
    assert tau.difference[0] == pytest.approx(tau.ways - tau.seeds)
    middle, low, high = module.shift(np.array([reference, reference + 8]))
    assert (middle, low, high) == pytest.approx((8, 8, 8))
    assert "alike: 30 networks" in capsys.readouterr().out
