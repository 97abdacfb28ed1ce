"""The torch module: what it consists of, how it is initialised, and that it trains."""

import pytest
import torch
from torch import nn

from anynet_study.design_space import Architecture
from anynet_study.engine.models import build

SMALL = Architecture((1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar")


def test_the_initialisation_is_a_function_of_the_generator_s_seed() -> None:
    global_state = torch.get_rng_state()
    one, same, other = (build(SMALL, 5, torch.Generator().manual_seed(s)) for s in (7, 7, 8))
    assert torch.equal(torch.get_rng_state(), global_state)
    pairs = zip(one.state_dict().values(), same.state_dict().values(), strict=True)
    assert all(torch.equal(x, y) for x, y in pairs)
    assert not torch.equal(one.head.weight, other.head.weight)


def test_weights_are_initialised_as_stated() -> None:
    wide = Architecture((1,) * 4, (256,) * 4, (1,) * 4, (32,) * 4, se_ratio=0.5)
    network = build(wide, 100, torch.Generator().manual_seed(0))
    seen = set()
    for name, module in network.named_modules():
        if isinstance(module, nn.Conv2d):
            kernel = module.kernel_size[0]
            std = (2 / (kernel**2 * module.out_channels)) ** 0.5
            assert module.weight.std().item() == pytest.approx(std, rel=0.05)
            assert abs(module.weight.mean().item()) < 0.05 * std
            # Only the convolutions of squeeze-and-excitation have no batch norm, but a bias.
            assert (module.bias is None) == (name.rsplit(".", 2)[1] != "excitation")
            assert module.bias is None or module.bias.eq(0).all()
            seen.add(kernel)
        elif isinstance(module, nn.BatchNorm2d):
            assert module.weight.eq(1).all()
            assert module.bias.eq(0).all()
            assert module.running_mean is not None
            assert module.running_mean.eq(0).all()
            assert module.running_var is not None
            assert module.running_var.eq(1).all()
    assert seen == {1, 3, 7}
    assert network.head.weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert network.head.bias.eq(0).all()


def test_the_keys_of_a_state_are_those_of_checkpoints() -> None:
    network = build(Architecture((1, 2), (8, 8), strides=(1, 2), stem_width=8), 2)
    normalised = {f"1.{name}" for name in ("weight", "bias", "running_mean", "running_var")}
    layer = {"0.weight", "1.num_batches_tracked", *normalised}
    block = [f"{part}.{key}" for part in ("squeeze", "spatial", "expand") for key in layer]
    expected = {f"stem.0.{key}" for key in layer} | {"head.weight", "head.bias"}
    expected |= {f"stages.{place}.{key}" for place in ("0.0", "1.0", "1.1") for key in block}
    expected |= {f"stages.1.0.shortcut.{key}" for key in layer}
    assert set(network.state_dict()) == expected


@pytest.mark.parametrize("block", ["basic", "vanilla"])
def test_basic_blocks_have_a_shortcut_and_vanilla_ones_none(block: str) -> None:
    a = Architecture((2, 1), (8, 16), strides=(1, 2), stem="cifar", stem_width=8, block=block)
    network = build(a, 2).eval()
    strided = network.stages[1][0]
    assert (strided.first[0].stride, strided.second[0].stride) == ((2, 2), (1, 1))
    same_shape = network.stages[0][1]
    nn.init.zeros_(same_shape.second[1].weight)
    x = torch.randn(2, 8, 5, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(same_shape(x), x.relu() if block == "basic" else torch.zeros_like(x))


def test_squeeze_and_excitation_scales_channels_by_a_function_of_their_means() -> None:
    a = Architecture((2,), (12,), (2,), (3,), strides=(2,), stem_width=10, se_ratio=0.25)
    first, other = build(a, 2, torch.Generator().manual_seed(0)).stages[0]
    # A share of the block's input width, a half rounded to even: 2.5 and 3.
    assert [block.excitation.reduce.out_channels for block in (first, other)] == [2, 3]
    layer = other.excitation
    nn.init.normal_(layer.reduce.bias, generator=torch.Generator().manual_seed(1))
    nn.init.normal_(layer.expand.bias, generator=torch.Generator().manual_seed(2))
    x = torch.randn(4, 6, 3, 5, generator=torch.Generator().manual_seed(3)).double()
    layer.double()
    weights = (module.weight[:, :, 0, 0] for module in (layer.reduce, layer.expand))
    reduce, expand = weights
    inside = torch.einsum("nchw,vc->nv", x / 15, reduce) + layer.reduce.bias
    scale = torch.sigmoid(inside.clamp(min=0) @ expand.T + layer.expand.bias)
    torch.testing.assert_close(layer(x), torch.einsum("nchw,nc->nchw", x, scale))
