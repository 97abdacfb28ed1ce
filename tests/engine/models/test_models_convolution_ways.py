"""Ways to compute a convolution: the same function, chosen by what was measured."""

import copy
import dataclasses
from importlib import resources
from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from anynet_study.design_space import Architecture
from anynet_study.engine.models import Backend, bfloat16, build, use_bfloat16
from anynet_study.engine.models.bfloat16 import Bfloat16Layer
from anynet_study.engine.models.convolution_ways import (
    TABLE,
    Timed,
    Way,
    convolve,
    way_for,
    way_on_cpu,
    ways_of,
    written,
)
from anynet_study.engine.models.rewrites import MiddleTap

#: Channels, groups, kernel, stride: joined by four, by three, all to one, and none that can be.
LAYERS = {
    "depthwise": (64, 64, 3, 1),
    "groups of 8": (64, 8, 3, 2),
    "groups of 10": (90, 9, 3, 1),
    "two groups": (8, 2, 3, 1),
    "groups of 32": (64, 2, 3, 1),
    "dense": (24, 1, 3, 2),
    "1x1": (24, 1, 1, 1),
}


def convolution(channels: int, groups: int, kernel: int, stride: int) -> nn.Conv2d:
    torch.manual_seed(channels)
    layer = nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=groups, bias=False)
    return layer.double()


@pytest.mark.parametrize("name", LAYERS)
def test_every_way_is_the_convolution(name: str) -> None:
    layer = convolution(*LAYERS[name])
    torch.manual_seed(0)
    maps = torch.randn(2, layer.in_channels, 5, 5, dtype=torch.float64)
    maps = maps.to(memory_format=torch.channels_last).requires_grad_()

    def computed(y: Tensor) -> tuple[Tensor, ...]:
        return y, *torch.autograd.grad(y.square().sum(), (maps, layer.weight))

    expected = computed(layer(maps))
    for way in ways_of(layer):
        for found, right in zip(
            computed(convolve(layer, maps, layer.weight, way)), expected, strict=True
        ):
            torch.testing.assert_close(found, right, rtol=1e-12, atol=1e-12, msg=way)


def test_float32_inside_gives_the_exact_result_rounded_once() -> None:
    layer = convolution(64, 64, 3, 2).to(torch.bfloat16)
    maps = torch.randn(2, 64, 5, 5, dtype=torch.float64).to(torch.bfloat16)
    found = convolve(layer, maps, layer.weight, "float32")
    exact = copy.deepcopy(layer).double()(maps.double())
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=1e-6)


def test_a_cpu_computes_narrow_groups_in_float32() -> None:
    """Those that its library has no kernel for in bfloat16."""
    widths = {1: ("float32",) * 2, 2: ("float32",) * 2, 4: ("channels last", "float32")}
    for width, ways in {**widths, 8: ("channels last",) * 2}.items():
        layers = (nn.Conv2d(64, 64, 3, stride, 1, groups=64 // width) for stride in (1, 2))
        assert tuple(map(way_on_cpu, layers)) == ways
    assert way_on_cpu(nn.Conv2d(1, 8, 1)) == "channels last"


def test_which_layers_have_groups_to_join() -> None:
    found = [name for name in LAYERS if "joined groups" in ways_of(convolution(*LAYERS[name]))]
    assert found == ["depthwise", "groups of 8", "groups of 10", "two groups"]


def timed(group_width: int, side: int, fastest: Way, channels: int = 64) -> Timed:
    seconds = {way: 1.0 + (way != fastest) for way in get_args(Way)}
    return Timed(3, group_width, channels, side, seconds)


def test_the_most_similar_layer_that_was_measured_decides() -> None:
    table = (
        timed(1, 8, "channels first"),
        timed(8, 8, "joined groups"),
        timed(8, 56, "channels last"),
        timed(32, 8, "channels first"),
        Timed(1, 64, 64, 8, {"channels last": 2.0, "channels first": 1.0}),
    )
    assert way_for(convolution(*LAYERS["depthwise"]), 56, table) == "channels first"
    assert way_for(convolution(*LAYERS["groups of 8"]), 14, table) == "joined groups"
    assert way_for(convolution(*LAYERS["groups of 10"]), 28, table) == "channels last"
    assert way_for(convolution(*LAYERS["1x1"]), 28, table) == "channels first"
    # A way that the layer does not have is none for it.
    only = (timed(8, 8, "joined groups"),)
    assert way_for(convolution(*LAYERS["groups of 32"]), 8, only) == "channels last"


def test_the_layers_of_a_network_on_a_gpu_are_computed_as_its_table_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the side of the maps that enter; on a CPU, and in torch's own layers, by none."""
    table = (
        *(timed(8, side, way) for side, way in ((8, "channels first"), (4, "joined groups"))),
        Timed(1, 64, 64, 8, {"channels first": 1.0, "channels last": 2.0}),
    )
    monkeypatch.setattr(bfloat16, "table_of", lambda gpu: table if gpu == "NVIDIA H900" else ())
    tuned = Backend("rewritten", "sm_90", 1, "cuda", table="NVIDIA H900")
    network = Architecture((1, 2), (16, 16), (1, 1), (8, 8), strides=(1, 2), stem="cifar")

    def ways(backend: Backend | None) -> list[Way]:
        made = build(network, 10)
        use_bfloat16(made, 8, backend)
        return [
            it.way
            for it in made.modules()
            if isinstance(it, Bfloat16Layer) and not isinstance(it[0], MiddleTap)
        ]

    found = ways(tuned)
    assert {"channels first", "joined groups"} <= set(found)
    for other in (
        None,
        dataclasses.replace(tuned, table=""),
        dataclasses.replace(tuned, kind="plain"),
    ):
        assert set(ways(other)) == {"channels last"}


def test_a_rule_fills_what_no_table_has() -> None:
    assert way_for(convolution(64, 4, 3, 1), 28, ()) == "channels first"  # groups of 16
    for name in LAYERS:
        assert way_for(convolution(*LAYERS[name]), 28, ()) == "channels last"
    assert way_for(nn.Conv2d(16, 16, 3), 28, ()) == "channels last"  # one group


def test_a_table_is_read_as_it_was_written() -> None:
    table = (timed(1, 8, "channels first"), timed(16, 28, "joined groups", channels=256))
    assert TABLE.validate_json(written(table)) == table
    with pytest.raises(ValueError, match="quickest"):
        TABLE.validate_json(written(table).replace("channels first", "quickest"))


def test_tables_of_the_package_can_be_read() -> None:
    for file in (resources.files("anynet_study.engine.models") / "measured").iterdir():
        if file.name.endswith(".json"):
            assert TABLE.validate_json(file.read_bytes())


def test_a_backend_says_what_it_uses_beside_torchs_operators() -> None:
    plain = Backend("rewritten", "sm_90", 1, "cuda")
    tuned = dataclasses.replace(plain, triton=True, table="NVIDIA H200")
    assert plain.instructions == "sm_90"
    assert tuned.instructions == "sm_90, Triton, table of NVIDIA H200"
    assert str(tuned) == "rewritten on sm_90, Triton, table of NVIDIA H200 in 1 thread"
    assert tuned.without_options("rewritten") == plain


def test_a_network_on_a_cpu_has_these_ways() -> None:
    network = Architecture((1, 1), (16, 16), (1, 1), (1, 8), strides=(1, 2), stem="cifar")
    made = build(network, 6)
    use_bfloat16(made, 8)
    narrow = [isinstance(it, Bfloat16Layer) and it.way == "float32" for it in made.modules()]
    assert sum(narrow) == 1
