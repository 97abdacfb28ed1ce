"""Formats of layers on a GPU: the cheapest way, the same network, measured and kept."""

import functools
import itertools
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anynet_study.design_space import Architecture
from anynet_study.models import AnyNet, build
from anynet_study.models.rewrites import accelerate
from anynet_study.training.cuda import layer_timing
from anynet_study.training.cuda.layer_formats import (
    FORMATS,
    IMAGES,
    PLAIN,
    Format,
    FormattedLayer,
    Layer,
    LayerGroup,
    Maps,
    cheapest,
    layer_groups,
    use_formats,
)
from anynet_study.training.cuda.layer_timing import Measured, format_layers, layer_body, seconds_of
from anynet_study.training.cuda.recompute import recompute_stages

CPU = torch.device("cpu")
NHWC16 = FORMATS[3]


def network(**others: object) -> AnyNet:
    keys: dict[str, object] = {
        "depths": (1, 2, 1, 2),
        "widths": (8, 16, 16, 24),
        "bottleneck_ratios": (1, 2, 1, 1),
        "group_widths": (4, 8, 1, 8),
        "stem": "imagenet",
        "stem_width": 8,
    } | others
    if others.get("block", "bottleneck") != "bottleneck":
        keys |= {"bottleneck_ratios": (1,) * 4, "group_widths": keys["widths"]}
    architecture = Architecture(**keys)  # type: ignore[arg-type]
    return build(architecture, 6, generator=torch.Generator().manual_seed(0))


def images(side: int = 32) -> torch.Tensor:
    batch = torch.randn(16, 3, side, side, generator=torch.Generator().manual_seed(1))
    return batch.to(memory_format=torch.channels_last)


# The choice: a pure function.


def length(
    steps: Sequence[LayerGroup],
    way: Sequence[Format],
    layer_seconds: Callable[[Layer, Format], float],
    conversion_seconds: Callable[[Maps, Format, Format], float],
) -> float:
    """The time of one way through the steps, gone as a network goes."""
    total, now, entry = 0.0, IMAGES, IMAGES
    for step, then in zip(steps, way, strict=True):
        total += conversion_seconds(step.layers[0].maps, now, then)
        total += sum(layer_seconds(layer, then) for layer in step.layers)
        if step.added is not None:
            total += conversion_seconds(step.added, entry, then)
        now, entry = then, then if step.ends_block else entry
    return total


@st.composite
def chains(draw: st.DrawFn) -> list[LayerGroup]:
    steps = []
    for number in range(draw(st.integers(1, 4))):
        maps = Maps(2, draw(st.sampled_from([8, 16])), draw(st.sampled_from([4, 8])))
        layers = (Layer(maps, 8, 1, 1, 1),) * draw(st.integers(1, 2))
        ends = draw(st.booleans())
        steps.append(
            LayerGroup((f"{number}",), layers, ends, maps if draw(st.booleans()) else None)
        )
    return steps


@settings(max_examples=40, deadline=None)
@given(chains(), st.integers(0, 1 << 30))
def test_it_is_the_cheapest_of_all_ways(steps: list[LayerGroup], seed: int) -> None:
    @functools.cache
    def seconds(*of: object) -> float:
        return float(random.Random(f"{seed} {of}").randrange(100))

    def conversion(maps: Maps, now: Format, then: Format) -> float:
        return 0.0 if now == then else seconds(maps, str(now), str(then)) / 3

    chosen = cheapest(steps, FORMATS, seconds, conversion)
    least = min(
        length(steps, way, seconds, conversion)
        for way in itertools.product(FORMATS, repeat=len(steps))
    )
    assert length(steps, chosen, seconds, conversion) == pytest.approx(least)


def test_what_does_not_run_is_not_chosen_and_with_nothing_left_it_says_so() -> None:
    step = LayerGroup(("stem.0",), (Layer(Maps(2, 3, 8), 8, 3, 1, 1),))

    def only(*runs: Format) -> Callable[[Layer, Format], float]:
        return lambda _, how: 1.0 if how in runs else math.inf

    free = lambda *_: 0.0  # noqa: E731
    assert cheapest([step], FORMATS, only(NHWC16), free) == (NHWC16,)
    with pytest.raises(RuntimeError, match=r"stem\.0: it runs in no format"):
        cheapest([step], FORMATS, only(), free)


# The network.

NETWORKS = {
    "bottlenecks": {},
    "excitation": {"se_ratio": 0.25},
    "basic": {"block": "basic"},
    "vanilla": {"block": "vanilla"},
    "cifar stem": {"stem": "cifar"},
}


@pytest.mark.parametrize("keys", NETWORKS.values(), ids=NETWORKS)
def test_groups_are_the_convolutions_as_they_are_called(keys: dict[str, object]) -> None:
    model = network(**keys)  # type: ignore[arg-type]
    seen: dict[str, tuple[object, ...]] = {}

    def watch(name: str) -> Callable[..., None]:
        def hook(module: torch.nn.Conv2d, inputs: tuple[torch.Tensor], out: torch.Tensor) -> None:
            seen[name] = tuple(inputs[0].shape), out.shape[1], module.kernel_size[0], module.groups

        return hook

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Conv2d) and "excitation" not in name:
            module.register_forward_hook(watch(name.removesuffix(".0")))
    model(images())
    found = {}
    for group in layer_groups(model, 16, 32):
        convolutions = [name for name in group.names if name in seen]
        for name, layer in zip(convolutions, group.layers, strict=True):
            maps = layer.maps
            shape = (maps.images, maps.channels, maps.side, maps.side)
            found[name] = shape, layer.width, layer.kernel, layer.groups
    assert found == seen


@pytest.mark.parametrize("keys", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("how", ["plain", "mixed", "half", "rewritten"])
def test_in_other_formats_it_is_the_same_network(keys: dict[str, object], how: str) -> None:
    plain, formatted = network(**keys), network(**keys)  # type: ignore[arg-type]
    if how == "rewritten":
        accelerate(formatted, 32, "cuda")
    groups = layer_groups(formatted, 16, 32)
    middle_taps = [layer.middle_tap for group in groups for layer in group.layers]
    assert any(middle_taps) == (how == "rewritten" and keys.get("stem") != "cifar")
    if how in ("mixed", "rewritten"):
        formats = itertools.cycle(FORMATS[:2])
    else:
        formats = itertools.cycle((PLAIN,) if how == "plain" else (NHWC16, FORMATS[2], PLAIN))
    names = [name for group in groups for name in group.names]
    use_formats(formatted, dict(zip(names, formats)))  # noqa: B905
    assert list(formatted.state_dict()) == list(plain.state_dict())
    parameters = [dict(model.named_parameters()) for model in (plain, formatted)]
    assert list(parameters[0]) == list(parameters[1])
    formatted.load_state_dict(plain.state_dict())
    outputs = []
    for model in (plain, formatted):
        logits = model(images())
        logits.square().sum().backward()
        with torch.no_grad():
            outputs.append((logits, model.eval()(images())))
    rounding = 0.1 if how == "half" else 1e-4
    for expected, found in zip(*outputs, strict=True):
        assert found.dtype == torch.float32
        assert (expected - found).norm() < rounding * expected.norm()
    for name, found in parameters[1].items():
        assert found.dtype == found.grad.dtype == torch.float32
        assert found.grad.stride() == found.stride() or 1 in found.shape, name
        if how != "half":
            expected = parameters[0][name].grad
            assert (expected - found.grad).norm() <= 0.05 * expected.norm() + 1e-6, name
    for expected, found in zip(plain.buffers(), formatted.buffers(), strict=True):
        assert torch.allclose(expected, found, atol=0.05)


def test_stages_in_other_formats_can_be_recomputed() -> None:
    results = []
    for recompute in (False, True):
        model = network()
        groups = layer_groups(model, 16, 32)
        use_formats(model, {name: NHWC16 for group in groups for name in group.names})
        if recompute:
            recompute_stages(model)
        logits = model(images())
        logits.sum().backward()
        gradients = [weights.grad for weights in model.parameters()]
        results.append([logits, *gradients, *model.buffers()])
    assert all(map(torch.equal, *results))


# Measuring, and what is kept.


class Clock:
    """A timer that makes up its times, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, body: object, device: torch.device) -> float:
        self.calls += 1
        return 1.0 + self.calls % 7


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(layer_timing, "seconds_of", made)
    return made


def chosen(model: AnyNet) -> dict[str, Format]:
    return {
        name: module.format
        for name, module in model.named_modules()
        if isinstance(module, FormattedLayer)
    }


def test_shapes_are_measured_once_for_all_networks_and_processes(
    tmp_path: Path, clock: Clock
) -> None:
    first, again, other = network(), network(), network(widths=(8, 16, 16, 96))
    format_layers(first, 16, 32, CPU, tmp_path)
    calls = clock.calls
    assert 0 < calls <= 15 * 4 + 12 * 6
    format_layers(again, 16, 32, CPU, tmp_path)
    assert clock.calls == calls
    assert chosen(again) == chosen(first)
    assert len(chosen(first)) == 1 + 3 * 6 + 3  # stem, blocks, shortcuts
    format_layers(other, 16, 32, CPU, tmp_path)
    assert calls < clock.calls < 2 * calls  # most of its shapes were known
    (path,) = tmp_path.iterdir()
    assert "torch" in path.name
    assert "cudnn" in path.name


def test_layers_alike_are_one_and_others_are_not(tmp_path: Path, clock: Clock) -> None:
    known = Measured(CPU, tmp_path / "layers.json")
    base = Layer(Maps(2, 64, 4), 64, 1, 1, 1)
    alike = Layer(Maps(2, 72, 4), 56, 1, 1, 1)
    others = [
        Layer(Maps(4, 64, 4), 64, 1, 1, 1),
        Layer(Maps(2, 64, 8), 64, 1, 1, 1),
        Layer(Maps(2, 128, 4), 64, 1, 1, 1),
        Layer(Maps(2, 64, 4), 66, 1, 1, 1),  # not aligned
        Layer(Maps(2, 64, 4), 64, 3, 1, 1),
        Layer(Maps(2, 64, 4), 64, 3, 2, 1),
        Layer(Maps(2, 64, 4), 64, 3, 1, 4),
    ]
    known.layer_seconds(base, PLAIN)
    known.layer_seconds(alike, PLAIN)
    assert clock.calls == 1
    for layer in others:
        known.layer_seconds(layer, PLAIN)
    assert clock.calls == 1 + len(others)
    assert known.conversion_seconds(base.maps, PLAIN, PLAIN) == 0
    there = known.conversion_seconds(base.maps, PLAIN, NHWC16)
    assert known.conversion_seconds(base.maps, NHWC16, PLAIN) == there


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"a": "x"}', "\0\1", '{"a": -1, "b": NaN}'])
def test_a_damaged_file_is_measured_anew_and_mended(
    tmp_path: Path, clock: Clock, content: str
) -> None:
    path = tmp_path / "layers.json"
    path.write_text(content)
    known = Measured(CPU, path)
    known.layer_seconds(Layer(Maps(2, 8, 4), 8, 1, 1, 1), PLAIN)
    known.save()
    assert clock.calls == 1
    assert list(json.loads(path.read_text()).values()) == [2.0]


def test_several_processes_add_to_the_file(
    tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "folder" / "layers.json"
    both = [Measured(CPU, path), Measured(CPU, path)]
    for width, known in zip((8, 64), both, strict=True):
        known.layer_seconds(Layer(Maps(2, width, 4), 8, 1, 1, 1), PLAIN)
        known.save()
    assert len(Measured(CPU, path)._known) == 2
    assert [found.name for found in path.parent.iterdir()] == ["layers.json"]
    nowhere = Measured(CPU, path / "not a folder" / "layers.json")
    nowhere.layer_seconds(Layer(Maps(2, 8, 4), 8, 1, 1, 1), PLAIN)
    nowhere.save()
    assert "measurements of layers are not kept" in capsys.readouterr().err


def test_a_layer_that_cannot_be_timed_is_not_used_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timer(body: Callable[[], None], device: torch.device) -> float:
        body()
        return 1.0

    def body(layer: Layer, how: Format, device: torch.device) -> Callable[[], None]:
        if how.dtype == torch.bfloat16:
            raise RuntimeError("GET was unable to find an engine to execute this computation")
        return lambda: None

    monkeypatch.setattr(layer_timing, "seconds_of", timer)
    monkeypatch.setattr(layer_timing, "layer_body", body)
    model = network()
    format_layers(model, 16, 32, CPU, tmp_path)
    assert {how.dtype for how in chosen(model).values()} == {torch.float32}
    kept = json.loads(next(tmp_path.iterdir()).read_text())
    assert all(value == 1 for value in kept.values())  # the reason may pass: not for others


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), None])
def test_where_it_cannot_be_measured_all_is_float32_with_a_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception | None,
) -> None:
    def timer(body: object, device: torch.device) -> float:
        raise error or RuntimeError("no timer")

    monkeypatch.setattr(layer_timing, "seconds_of", timer)
    model = network()
    format_layers(model, 16, 32, CPU, tmp_path)
    assert set(chosen(model).values()) == {PLAIN}
    assert "layers are float32, they could not be measured: " in capsys.readouterr().err
    assert model(images()).dtype == torch.float32
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", FORMATS, ids=str)
@pytest.mark.parametrize("middle_tap", [False, True])
def test_a_timer_times_every_format(middle_tap: bool, how: Format) -> None:
    layer = Layer(Maps(2, 8, 1 if middle_tap else 4), 16, 3, 1, 4, middle_tap)
    assert 0 < seconds_of(layer_body(layer, how, CPU), CPU) < 1
