"""What the benchmarks of training compare is the same work, and unfair comparisons are refused."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from training_runs import spec

from anynet_study.data import DatasetView
from anynet_study.design_space import DesignSpace, layers
from anynet_study.engine.models import build

ROOT = Path(__file__).parents[3]
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
        *(f"gpu.{name}" for name in ("first_hour", "parts", "layers", "speed", "wheels")),
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
    Row, hour = bench.parts.Row, bench.first_hour

    def broken(setup: Any) -> Iterator[Any]:
        yield Row("before it", 1.0)
        raise RuntimeError("CUDA error:\nan illegal memory access")

    def missed(setup: Any) -> Iterator[Any]:
        yield Row("runs an hour", 1.0, "at least 2", reached=False)

    parts = {"broken": broken, "missed it": missed, "tests": hour.PARTS["tests"]}
    monkeypatch.setattr(hour, "PARTS", parts)
    monkeypatch.setattr(hour, "run_apart", hour.run_here)
    assert hour.main(["--device", "cpu", "-o", str(tmp_path)]) == 1
    told = told_in(tmp_path)
    assert set(told) == set(parts)
    assert told["broken"]["failed"] == "RuntimeError: an illegal memory access"
    assert [row["what"] for row in told["broken"]["rows"]] == ["before it"]
    assert told["tests"]["skipped"] == "it needs a CUDA device"
    shown = capsys.readouterr().out
    assert "FAILED: RuntimeError" in shown
    assert "MISSED: at least 2" in shown
    assert hour.main(["--device", "cpu", "-o", str(tmp_path), "--only", "tests"]) == 0


def test_a_part_that_is_cut_off_is_no_success(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.first_hour, "MOST_SECONDS", 0.01)
    assert bench.first_hour.main(["--device", "cpu", "-o", str(tmp_path), "--only", "machine"]) == 1
    assert told_in(tmp_path)["machine"]["failed"] == "took more than 0.01 s"


def told_in(folder: Path) -> dict[str, Any]:
    """Each part by its name."""
    files = folder.glob("part-*.json")
    return {name: part for it in files for name, part in json.loads(it.read_text()).items()}


@pytest.mark.parametrize("side", [32, 224])
def test_runs_an_hour_are_a_slope(
    bench: Any, side: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight runs that begin in 10 seconds and take 2 for each epoch that is measured."""
    length = bench.speed.LENGTHS[side]
    made: list[Any] = []

    def wall(task: Any, epochs: int) -> float:
        made.append(task)
        return 10.0 + 2.0 * epochs

    monkeypatch.setattr(bench.speed, "_wall", wall)
    monkeypatch.setattr(bench.task.Task, "prepare", lambda _: None)
    setup = bench.parts.Setup(CPU, False, tmp_path)
    rows = {row.what: row.value for row in bench.speed.runs_an_hour(length)(setup)}
    whole = 10 + 2 * length.part * length.epochs
    assert rows["runs an hour"] == pytest.approx(3600 * 8 / whole, abs=0.05)
    for task in made:
        assert task.images * length.part == pytest.approx(length.images, rel=0.01)
        assert task.test_images * length.part == length.test_images
        assert task.recipe["precise_bn"] * length.part == 8192


def test_what_a_bare_machine_lacks_is_listed(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheels = bench.wheels
    assert {it.name for it in wheels.required()} >= {"torch", "duckdb", "pytest"}
    asked = [wheels.Requirement(it) for it in ("pytest>=1", "pytest>=99", "none-such-here>=2")]
    found = [(str(it), bool(there)) for it, there in wheels.lacking(asked)]
    assert found == [("pytest>=99", True), ("none-such-here>=2", False)]
    script = (ROOT / "benchmarks" / "gpu" / "wheels.py").read_text()
    imported = {
        it.split()[1].partition(".")[0]
        for it in script.splitlines()
        if it[:5] in ("from ", "impor")
    }
    assert imported <= {*sys.stdlib_module_names, "pip"}


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


def test_a_step_is_profiled_of_a_typical_network_of_the_band(bench: Any) -> None:
    """Norms, as torch's module counts them; what is planned first has half as many again."""
    sampled = list(DesignSpace.anynetx().sample(200, flops=(360e6, 400e6), seed=0))
    counts = [bench.parts.norms_of(architecture) for architecture in sampled]
    module = build(sampled[2], 10)
    assert counts[2] == sum(isinstance(it, nn.BatchNorm2d) for it in module.modules())
    assert round(np.mean(counts)) == bench.parts.NORMS
    assert min(abs(it - bench.parts.NORMS) for it in counts[:3]) < 5  # of three, one is near


@pytest.mark.slow
def test_what_of_it_needs_no_gpu_runs_without(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first part in a process of its own; and of two studies that differ in length, one."""
    hour, apart, wall = bench.first_hour, bench.first_hour.run_apart, bench.speed._wall
    parts = set(hour.PARTS) - {"smoke", "224 pixels"}  # the same code as failures and CIFAR-10

    def run(name: str, *given: Any) -> Any:
        return (apart if name == "machine" else hour.run_here)(name, *given)

    walls: list[float] = []

    def timed(*given: Any) -> float:
        walls.extend([wall(*given)] if not walls else [])
        return walls[0]

    monkeypatch.setattr(hour, "run_apart", run)
    monkeypatch.setattr(bench.speed, "_wall", timed)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    asked = ["--device", "cpu", "--quick", "--only", *sorted(parts), "-o", str(tmp_path)]
    code = hour.main(asked)
    told = told_in(tmp_path)
    assert code == 0, {name: part["failed"] for name, part in told.items()}
    assert set(told) == parts
    left_out = {name for name, part in told.items() if part["skipped"]}
    assert left_out == {"tests", "sanitizer", "norms", *["kernels"] * (find_spec("triton") is None)}
    assert all(part["rows"] for name, part in told.items() if name not in left_out)
