"""The torch module: it is the network the closed forms count, and it trains."""

import warnings
from collections.abc import Iterator

import pytest
import torch
from architecture_strategies import architectures
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from anynet_study.design_space import Architecture, DesignSpace
from anynet_study.models import AnyNet, build

SMALL = Architecture((1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar")


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Thousands of tiny kernels run faster without handing work to other threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def traced(network: nn.Module, resolution: int) -> tuple[int, int, int]:
    """FLOPs and activations of convolutions and linear layers by fvcore; torch's parameters."""
    with warnings.catch_warnings():
        # fvcore traces with torch.jit, which torch has deprecated.
        warnings.simplefilter("ignore")
        from fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis

        image = torch.zeros(1, 3, resolution, resolution)
        analyses = (
            cls(network.eval(), image) for cls in (FlopCountAnalysis, ActivationCountAnalysis)
        )
        flops, activations = (
            analysis.unsupported_ops_warnings(False).by_operator() for analysis in analyses
        )
    parameters = sum(weights.numel() for weights in network.parameters())
    operators = ("conv", "linear", "addmm")
    return (
        int(sum(flops[name] for name in operators)),
        parameters,
        int(sum(activations[name] for name in operators)),
    )


def counted(a: Architecture, resolution: int, classes: int) -> tuple[int, int, int]:
    return a.flops(resolution, classes), a.parameters(classes), a.activations(resolution, classes)


@given(architectures(most_depth=2), st.sampled_from([1, 7, 8, 32, 33, 64]), st.integers(1, 20))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_complexity_is_what_fvcore_and_torch_count(
    a: Architecture, resolution: int, classes: int
) -> None:
    assert counted(a, resolution, classes) == traced(build(a, classes), resolution)


@pytest.mark.parametrize(
    ("stem", "count", "band", "resolution", "classes"),
    [
        ("imagenet", 10, (360e6, 400e6), 224, 1000),
        ("cifar", 4, (50e6, 60e6), 33, 10),
    ],
)
def test_complexity_of_the_paper_s_networks(
    stem: str, count: int, band: tuple[float, float], resolution: int, classes: int
) -> None:
    population = DesignSpace.anynetx(stem).sample(count, band, resolution, classes, seed=4)
    columns = ("flops", "parameters", "activations")
    rows = zip(*(population.table[name].to_pylist() for name in columns), strict=True)
    for architecture, costs in zip(population, rows, strict=True):
        assert costs == traced(build(architecture, classes), resolution)


@given(architectures(), st.sampled_from([1, 8, 13, 32]), st.integers(1, 5))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_every_architecture_trains(a: Architecture, resolution: int, classes: int) -> None:
    network = build(a, classes, torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(3, 3, resolution, resolution, generator=generator)
    labels = torch.randint(classes, (3,), generator=generator)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    before = [weights.detach().clone() for weights in network.parameters()]
    logits = network(images)
    assert logits.shape == (3, classes)
    loss = nn.functional.cross_entropy(logits, labels)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert torch.isfinite(loss)
    after = list(network.parameters())
    assert all(weights.grad is not None and weights.isfinite().all() for weights in after)
    if classes > 1:
        assert any(not torch.equal(x, y) for x, y in zip(before, after, strict=True))


@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
def test_images_of_any_size_get_logits(stem: str) -> None:
    network = build(Architecture(**{**SMALL.to_dict(), "stem": stem}), 6).eval()
    for side in (1, 8, 31):
        assert network(torch.zeros(2, 3, side, side)).shape == (2, 6)


def test_the_initialisation_is_a_function_of_the_generator_s_seed() -> None:
    global_state = torch.get_rng_state()
    one, same, other = (build(SMALL, 5, torch.Generator().manual_seed(s)) for s in (7, 7, 8))
    assert torch.equal(torch.get_rng_state(), global_state)
    pairs = zip(one.state_dict().values(), same.state_dict().values(), strict=True)
    assert all(torch.equal(x, y) for x, y in pairs)
    assert not torch.equal(one.head.weight, other.head.weight)


def test_weights_are_initialised_as_stated() -> None:
    wide = Architecture((1,) * 4, (256,) * 4, (1,) * 4, (32,) * 4)
    network = build(wide, 100, torch.Generator().manual_seed(0))
    seen = set()
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            kernel = module.kernel_size[0]
            std = (2 / (kernel**2 * module.out_channels)) ** 0.5
            assert module.weight.std().item() == pytest.approx(std, rel=0.05)
            assert abs(module.weight.mean().item()) < 0.05 * std
            assert module.bias is None
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


def test_the_stride_and_the_shortcut_of_a_stage_s_first_block() -> None:
    a = Architecture((2,) * 4, (16, 16, 32, 64), (2,) * 4, (4,) * 4, stem="cifar", stem_width=16)
    network = build(a, 2)
    assert isinstance(network, AnyNet)
    firsts = [stage[0] for stage in network.stages]
    others = [stage[1] for stage in network.stages]
    assert [block.spatial[0].stride[0] for block in firsts] == [1, 2, 2, 2]
    assert [block.spatial[0].groups for block in others] == [2, 2, 4, 8]
    # Stage 1 neither strides nor changes the width, stage 2 strides only.
    assert [isinstance(block.shortcut, nn.Identity) for block in firsts] == [True] + [False] * 3
    assert all(isinstance(block.shortcut, nn.Identity) for block in others)
