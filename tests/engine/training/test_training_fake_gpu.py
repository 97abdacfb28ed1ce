"""The step of a GPU on tensors that only claim to be there: what would break a recording fails."""

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from cells import cells
from fake_gpu import GPU, FakeGpu, RecordingError
from interpreted import fused_norms
from quick import slow_but
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from training_runs import NETWORK, spec, turns

from anynet_study.data import DatasetView, Variant, make_view
from anynet_study.design_space import Architecture
from anynet_study.engine.models import Backend
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import (
    Checkpoint,
    Outcome,
    RunSpec,
    Trainer,
    Turns,
    engine,
    feeds,
    graphs,
    metrics,
    options,
    together,
)
from anynet_study.engine.training.engine import make_trainer
from anynet_study.engine.training.evaluation import EvaluationSpec, make_evaluation_set
from anynet_study.engine.training.evaluation_pass import evaluate
from anynet_study.engine.training.feeds import DeviceImages
from anynet_study.engine.training.metrics import training_loss
from anynet_study.engine.training.network import Weights, initial_network
from anynet_study.engine.training.optimizers import Update
from anynet_study.engine.training.options import Options
from anynet_study.engine.training.together import finish, train_together

ON_GPU = Backend("rewritten", "sm_90", 1, "cuda")
PLAIN = replace(ON_GPU, kind="plain")
KERNELS = replace(ON_GPU, triton=True)
#: Bytes of it for datasets.
BUDGET = 1 << 30
RECIPES: dict[str, dict[str, object]] = {
    "SGD": {"nesterov": True, "flip": True},
    "SGD without momentum, in parts": {"momentum": 0.0, "accumulation": 4},
    "AdamW, smoothed": {"optimizer": "adamw", "label_smoothing": 0.1, "accumulation": 2},
    "resized crops, AUROC": {"crop": "resized", "resolution": 6, "flip": True, "metric": "auroc"},
    "augmented": {"augment": ["blur", "equalise", "randaugment", "cutmix"], "steps": 3},
    "images and texts, in parts": {"loss": "clip", "templates": ["a {}", "{}"], "accumulation": 2},
    "whole images, a pass cut short": {"crop": "none", "padding": 0, "steps": 3},
    "grades, generalised mean": {"loss": "l1", "pooling": "gem", "steps": 3},
}
SHORT: dict[str, object] = {"accumulation": 2, "steps": 2}
PLAIN_BLOCKS = [
    Architecture((1, 1), (8, 16), strides=(1, 2), stem="simple", block=block)
    for block in ("basic", "vanilla")
]
#: Options, recipe and network.
CASES: dict[str, tuple[Options, dict[str, object], Architecture]] = {
    **{name: (Options(backend=ON_GPU), recipe, NETWORK) for name, recipe in RECIPES.items()},
    "streamed": (Options(backend=ON_GPU, resident=False), SHORT, NETWORK),
    "computed twice": (Options(backend=ON_GPU, recompute=True), SHORT, NETWORK),
    "float32": (Options(backend=ON_GPU, bfloat16=False), SHORT, NETWORK),
    "torch's own": (Options(bfloat16=False, backend=PLAIN, recompute=True), SHORT, NETWORK),
    "without a graph": (Options(backend=ON_GPU, graph=False), SHORT, NETWORK),
    "kernels in Triton": (Options(backend=KERNELS), SHORT, NETWORK),
    "pool, excitation": (
        Options(backend=ON_GPU),
        SHORT,
        replace(NETWORK, stem="imagenet", se_ratio=0.25),
    ),
    "basic": (Options(backend=ON_GPU, recompute=True), SHORT, PLAIN_BLOCKS[0]),
    "vanilla": (Options(backend=ON_GPU, recompute=True), SHORT, PLAIN_BLOCKS[1]),
}
BY_DEFAULT = ("SGD", "float32", "vanilla", "augmented")
#: Operators for which a GPU's host waits.
WAITING = {
    f"aten::{name}"
    for name in ("_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "equal", "unique")
}
MADE_ON_HOST = ("torch.tensor", "torch.as_tensor", "torch.from_numpy")
NUMBERS = ("float32", "float64", "bfloat16", "int64", "bool")
FAULTS: dict[str, Callable[[Tensor], object]] = {
    "a number read": lambda loss: loss.item(),
    "a tensor on the host": lambda loss: loss + torch.ones(()),
    "as many as there are": lambda loss: loss.reshape(1).nonzero(),
    "something drawn": torch.rand_like,
}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGpu]:
    """A GPU that computes in bfloat16."""
    gpu = FakeGpu()
    monkeypatch.setattr(graphs, "cuda_graph", gpu.record)
    monkeypatch.setattr(graphs, "WARM_UP", 1)
    monkeypatch.setattr(together, "_stream", lambda *_: nullcontext)
    monkeypatch.setattr(options, "has_bfloat16", lambda: True)
    monkeypatch.setattr(metrics, "auroc", lambda *_: 0.5)  # after a pass: it may wait
    # No memory either from which a GPU copies by itself.
    made = feeds.BatchStream
    monkeypatch.setattr(feeds, "BatchStream", lambda images, pinned, _: made(images, not pinned))
    with gpu:
        yield gpu


def trained(
    view: DatasetView, options: Options, *runs: RunSpec, weights: Weights | None = None
) -> None:
    """Bring runs to their end, all at the same time; nobody knows what they have learnt."""
    images = DeviceImages(GPU, BUDGET)

    starts = [partial(turns, run, view, images, options, weights=weights) for run in runs]
    for ended in train_together(starts, GPU):
        if isinstance(ended.result, Exception):
            raise ended.result
        assert ended.result.status == "completed"


@pytest.mark.parametrize(
    "case",
    slow_but(BY_DEFAULT, CASES),
)
def test_steps_can_be_recorded_and_tests_pass(view: DatasetView, gpu: FakeGpu, case: str) -> None:
    options, recipe, architecture = CASES[case]
    trained(view, options, replace(spec(view, **{"steps": 3} | recipe), architecture=architecture))


def test_no_layer_copies_its_maps_or_casts_its_weights(view: DatasetView, gpu: FakeGpu) -> None:
    """All casts of a step are two kernels, and the counters of its norms are one."""
    deeper = replace(NETWORK, depths=(3, 2, 3, 1))  # the last stage is of maps of one pixel
    for architecture in (NETWORK, deeper):
        trained(
            view, Options(backend=ON_GPU), replace(spec(view, steps=3), architecture=architecture)
        )
    assert len(gpu.recordings) == 4  # of each a step and a test
    fewer, more = (Counter(it.operators) for it in gpu.recordings[::2])
    assert more["aten::convolution"] == fewer["aten::convolution"] + 3 * 4
    for copying in ("_to_copy", "copy_", "clone", "_foreach_copy_", "_foreach_add_.Scalar"):
        assert more[f"aten::{copying}"] == fewer[f"aten::{copying}"], copying
    assert (fewer["aten::_foreach_copy_"], fewer["aten::_foreach_add_.Scalar"]) == (2, 1)


def test_kernels_in_triton_leave_nothing_of_a_norm_to_torch(
    view: DatasetView, gpu: FakeGpu
) -> None:
    """One operator each way for norm, sum and ReLU."""
    for backend in (KERNELS, ON_GPU):
        trained(view, Options(backend=backend), spec(view, steps=3))
    fused, _, apart, _ = (Counter(it.operators) for it in gpu.recordings)
    layers = apart["aten::convolution"]
    ours = [name for name in fused if "norm_sum_relu" in name]
    assert [fused[name] for name in ours] == [layers, layers]
    assert not [name for name in fused if "batch_norm" in name or "threshold" in name]
    assert fused["aten::relu_"] == 0


def test_what_starts_the_kernels_takes_nothing_from_the_host() -> None:
    """A fake GPU does not run it."""
    for function in (fused_norms._forward, fused_norms._backward):
        assert from_host(inspect.getsource(function._init_fn)) == []
    for function in (fused_norms.Tiles, fused_norms._maps_like, fused_norms._channels_last):
        assert from_host(inspect.getsource(function)) == []


@pytest.mark.parametrize("recipe", [{}, {"precise_bn": 64, "accumulation": 2, "steps": 3}])
def test_passes_over_other_images_can_be_recorded(
    view: DatasetView, gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, recipe: dict[str, object]
) -> None:
    """By the options that are a GPU's by default: one graph each, and the last batch by itself."""
    monkeypatch.setattr(options, "LARGEST_PIXELS", 64 * 100)
    monkeypatch.setattr(options, "LARGEST_BATCH", 1)
    monkeypatch.setattr(engine, "backend_here", lambda *_: ON_GPU)
    (ended,) = train_together(
        [lambda: steps_of(make_trainer(spec(view, **recipe), view, DeviceImages(GPU, BUDGET)))], GPU
    )
    if isinstance(ended.result, Exception):
        raise ended.result
    backward = ["aten::convolution_backward" in it.operators for it in gpu.recordings]
    assert backward == [True, False, False][: 2 + bool(recipe)]


def steps_of(trainer: Trainer) -> Turns[Outcome]:
    saved = Checkpoint(None, trainer.spec.run_id, "fast")
    return engine.steps(trainer, trainer.spec, trainer.view, saved)


def shipped() -> dict[str, dict[str, object]]:
    """By a name, recipes of sweep files, for few small images and two steps.

    Each has a value of a key that none before it has.
    """
    found: dict[str, dict[str, object]] = {}
    known: set[tuple[str, str]] = set()
    for path in sorted((Path(__file__).parents[3] / "sweeps").rglob("*.yaml")):
        sweep = Sweep.load(path)
        for name, recipe in sweep.trained.items():
            for label in sweep.trained_datasets(recipe):
                keys = recipe.for_dataset(label).model_dump()
                smaller = {"batch_size": 32, "resolution": 8, "epochs": None, "steps": 2}
                smaller |= {"precise_bn": min(64, keys["precise_bn"]), "trained": "all"}
                smaller |= {"select": "last", "patience": None, "thresholds": "half"}
                scale = {"lr", "weight_decay", "momentum", "betas", "epochs", "warmup_epochs"}
                scale |= {"milestones", "gamma", "restart_epochs", "restart_factor", "test_every"}
                changes = {key: it for key, it in keys.items() if key not in scale} | smaller
                if new := {(key, repr(it)) for key, it in changes.items()} - known:
                    known |= new
                    found[f"{path.stem}/{name} on {label}"] = changes
    return found


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [pytest.param(it, id=name) for name, it in shipped().items()])
def test_shipped_recipes_can_be_recorded(
    view: DatasetView, gpu: FakeGpu, recipe: dict[str, object]
) -> None:
    """How long and how fast they train is no part of a step, nor is what is chosen afterwards."""
    trained(view, Options(backend=KERNELS), spec(view, **recipe))


def from_host(source: str) -> list[str]:
    """Calls of Python code that read a number of a device, or may make a tensor on the host."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called, name = ast.unparse(node.func), node.func.attr
            to = [ast.unparse(it) for it in node.args if name == "to"]
            like = [it for it in to if it.rpartition(".")[2] not in ("device", "dtype", *NUMBERS)]
            if name in ("item", "tolist", "cpu", "numpy") or called in MADE_ON_HOST or like:
                found.append(ast.unparse(node))
    return found


@pytest.mark.slow
def test_so_they_can_of_images_with_several_classes(tmp_path: Path, gpu: FakeGpu) -> None:
    view = make_view(cells(tmp_path / "cells"), Variant(base="cells"))
    for metric in ("macro_f1", "auroc"):
        trained(view, Options(backend=ON_GPU), spec(view, **SHORT, metric=metric))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["head", "all"])
def test_so_they_can_from_the_weights_of_another(
    view: DatasetView, gpu: FakeGpu, part: str
) -> None:
    first = spec(view)
    weights = initial_network(first, view).state_dict()
    run = replace(spec(view, trained=part, steps=3), pretrained=first)
    trained(view, Options(backend=ON_GPU, recompute=True), run, weights=weights)


@pytest.mark.slow
def test_further_evaluations_keep_to_the_gpu(view: DatasetView, gpu: FakeGpu) -> None:
    trainer = make_trainer(
        spec(view), view, DeviceImages(GPU, BUDGET), options=Options(backend=ON_GPU)
    )
    for transform in ("identity", "colour_jitter", "blur", "perspective"):
        chosen = make_evaluation_set(EvaluationSpec(transform=transform, classes=4), view)
        result = finish(evaluate(trainer.model, trainer.preprocess, chosen, GPU))  # type: ignore[attr-defined]
        assert result.images == len(chosen.index)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_nor_do_functions_of_torch_wait_that_nobody_watches(
    view: DatasetView, monkeypatch: pytest.MonkeyPatch, recipe: dict[str, object]
) -> None:
    """Some take another way where their operators are seen one by one, as by a fake GPU."""
    host, plain = DeviceImages(torch.device("cpu")), Options(Backend("plain", "", 1))
    trainer = make_trainer(spec(view, **recipe), view, host, options=plain)
    trainer.begin_epoch(0)
    # On a CPU this reads its rate; a fake GPU checks what is given to that of a GPU.
    monkeypatch.setattr(Update, "step", lambda _: None)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        trainer.step()
    names = {event.name for event in seen.events() or []}
    assert names >= {"aten::convolution", "aten::topk"}
    assert sorted(names & WAITING) == []


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_recorded_is_noticed(
    view: DatasetView,
    gpu: FakeGpu,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Tensor], object],
) -> None:
    def faulty(*given: object) -> Tensor:
        loss = training_loss(*given)  # type: ignore[arg-type]
        fault(loss)
        return loss

    monkeypatch.setattr("anynet_study.engine.training.trainer.training_loss", faulty)
    with pytest.raises((RecordingError, NotImplementedError)):
        trained(view, Options(backend=ON_GPU, bfloat16=False), spec(view))
