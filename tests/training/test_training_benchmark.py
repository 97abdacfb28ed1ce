"""What the benchmarks of training compare is the same work, and unfair comparisons are refused."""

import json
import os
import subprocess
import sys
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
from anynet_study.design_space import DesignSpace, layers

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The modules of the benchmarks, by their last name."""
    names = [f"training.{name}" for name in ("task", "loaders", "plain", "results", "ways")]
    names += [
        "training.checks",
        "training.table",
        "training.__main__",
        "engines_agree",
        "gpu",
        "layers",
    ]
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


def test_a_gpu_s_first_command_tells_what_fails_and_goes_on(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(setup: Any) -> Iterator[Any]:
        yield bench.gpu.Row("before it", 1.0)
        raise RuntimeError("CUDA error:\nan illegal memory access")

    def missed(setup: Any) -> Iterator[Any]:
        yield bench.gpu.Row("runs an hour", 1.0, "at least 2", reached=False)

    parts = {"broken": (broken, 1), "missed": (missed, 1), "tests": bench.gpu.PARTS["tests"]}
    monkeypatch.setattr(bench.gpu, "PARTS", parts)
    monkeypatch.setattr(bench.gpu, "run_apart", bench.gpu.run_here)
    out = tmp_path / "gpu.json"
    assert bench.gpu.main(["--device", "cpu", "-o", str(out)]) == 1
    told = json.loads(out.read_text())
    assert list(told) == list(parts)
    assert told["broken"]["failed"] == "RuntimeError: an illegal memory access"
    assert [row["what"] for row in told["broken"]["rows"]] == ["before it"]
    assert told["tests"]["skipped"] == "it needs a CUDA device"
    shown = capsys.readouterr().out
    assert "FAILED: RuntimeError" in shown
    assert "MISSED: at least 2" in shown
    assert bench.gpu.main(["--device", "cpu", "-o", str(out), "--only", "tests"]) == 0


@pytest.mark.parametrize("group", [1, 2, 4, 8, 16, 32])
def test_joined_groups_are_the_same_convolution(bench: Any, group: int) -> None:
    generator = torch.Generator().manual_seed(group)
    maps = torch.randn(2, 96, 5, 5, generator=generator, dtype=torch.float64)
    weight = torch.randn(96, group, 3, 3, generator=generator, dtype=torch.float64)
    weight.requires_grad_()
    plain = torch.nn.functional.conv2d(maps, weight, padding=1, groups=96 // group)
    wider = torch.nn.functional.conv2d(maps, bench.layers.joined(weight), padding=1, groups=3)
    torch.testing.assert_close(wider, plain)
    gradients = [torch.autograd.grad(made.square().sum(), weight)[0] for made in (plain, wider)]
    torch.testing.assert_close(*gradients)


def test_every_layer_of_the_band_is_of_a_kind_that_is_measured(bench: Any) -> None:
    (networks,) = (
        group.networks
        for group in DesignSpace.anynetx().sample(200, flops=(360e6, 400e6), seed=0).groups
    )
    counted = bench.layers.activations(224)
    assert set(counted) == set(bench.layers.KINDS)
    everything = sum(int(np.sum(layer.activations())) for layer in layers(networks, 224)[1:])
    assert sum(counted.values()) == everything
    assert sum(bench.layers.activations(32).values()) < everything / 49


@pytest.mark.slow
def test_what_of_it_needs_no_gpu_runs_without(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--device", "cpu", "--quick"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    out = tmp_path / "gpu.json"
    done = subprocess.run([*command, "-o", out], cwd=ROOT, env=environment, capture_output=True)
    told = json.loads(out.read_text())
    assert done.returncode == 0, {name: part["failed"] for name, part in told.items()}
    left_out = {name for name, part in told.items() if part["skipped"]}
    assert left_out == {"tests", "together"}
    assert all(part["rows"] for name, part in told.items() if name not in left_out)
