"""The kernels of a GPU, on a CPU run by Triton's interpreter, against torch in float64."""

from typing import Any

import pytest
import torch
from interpreted import DEVICE
from quick import slow_but
from torch import Tensor, nn

from anynet_study.engine.models import fused_norms
from anynet_study.engine.models.fused_norms import (
    FEW,
    TILE_COLUMNS,
    TILE_ROWS,
    Tiles,
    folds_of,
    norm_sum_relu,
    try_out,
)

#: Maps (n, channels, side, side): of one channel, fewer and more than a tile, odd, one pixel; of
#: which rows are taken together; rows that are few, and that end within a tile. The last have more
#: than one tile in each split.
SHAPES = [(2, 1, 3), (3, 7, 5), (5, 24, 1), (2, 64, 4), (3, 65, 7), (4, 130, 2), (16, 20, 7)]
SHAPES += [(65, 3, 16)]
#: Relative to the largest number of a result.
PRECISION = {torch.float32: 1e-5, torch.bfloat16: 2**-8, torch.float16: 2**-11}
#: Shape, numbers, whether there is a ReLU, and a residual: every shape with both; of a few all
#: else, for how maps are cut into tiles depends on their shape alone.
CASES = [
    *((shape, torch.float32, 1, 1) for shape in SHAPES),
    *((shape, torch.bfloat16, 0, 0) for shape in SHAPES[2:4]),
    *((SHAPES[4], torch.float32, relu, summed) for relu, summed in ((0, 0), (0, 1), (1, 0))),
    *((SHAPES[4], dtype, 1, 1) for dtype in (torch.bfloat16, torch.float16)),
]


def norm_of(channels: int, training: bool) -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(channels, momentum=0.3, eps=1e-3).train(training)
    generator = torch.Generator().manual_seed(channels)
    with torch.no_grad():
        for values in (norm.weight, norm.bias, norm.running_mean):
            assert values is not None
            values.copy_(torch.randn(channels, generator=generator))
        assert norm.running_var is not None
        norm.running_var.copy_(0.5 + torch.rand(channels, generator=generator))
    return norm.to(DEVICE)


def maps_of(
    shape: tuple[int, int, int], dtype: torch.dtype, seed: int, offset: float = 30.0
) -> Tensor:
    """By `offset` from zero in some channels, so that a sum of squares would lose its digits."""
    count, channels, side = shape
    generator = torch.Generator().manual_seed(seed)
    maps = torch.randn(count, channels, side, side, generator=generator)
    maps += offset * (torch.arange(channels) % 3 == 1)[:, None, None]
    return maps.to(DEVICE, dtype, memory_format=torch.channels_last)


def close(found: Tensor, expected: Tensor, dtype: torch.dtype, what: str) -> None:
    assert found.shape == expected.shape, what
    most = expected.abs().max().item() + 1e-3
    torch.testing.assert_close(
        found.double(),
        expected,
        rtol=0,
        atol=PRECISION[dtype] * most,
        msg=lambda it: f"{what}: {it}",
    )


@pytest.mark.parametrize(
    ("shape", "dtype", "relu", "summed"),
    slow_but([case for case in CASES if case[0] != SHAPES[-1]], CASES),
    ids=str,
)
def test_results_gradients_and_statistics_are_those_of_torch(
    shape: tuple[int, int, int], dtype: torch.dtype, relu: bool, summed: bool
) -> None:
    norm, theirs = norm_of(shape[1], True), norm_of(shape[1], True).double()
    maps = maps_of(shape, dtype, 1).requires_grad_()
    residual = maps_of(shape, dtype, 2, 0.0).requires_grad_() if summed else None
    gradient = maps_of(shape, dtype, 3, 0.0)
    y = norm_sum_relu(maps, norm, residual, relu)
    assert (y.dtype, y.is_contiguous(memory_format=torch.channels_last)) == (dtype, True)
    y.backward(gradient)

    exact = maps.detach().double().requires_grad_()
    z = theirs(exact)
    added = None if residual is None else residual.detach().double().requires_grad_()
    z = z if added is None else z + added
    z = z.relu() if relu else z
    close(y, z, dtype, "result")
    # Where the result is rounded to zero it has no gradient.
    z.backward(gradient.double() * ((y != 0) if relu else 1))
    assert maps.grad is not None
    assert exact.grad is not None
    close(maps.grad, exact.grad, dtype, "gradient by the maps")
    for name in ("weight", "bias"):
        ours, own = (getattr(it, name).grad for it in (norm, theirs))
        close(ours, own, dtype, f"gradient by {name}")
    if residual is not None:
        assert added is not None
        assert residual.grad is not None
        assert added.grad is not None
        close(residual.grad, added.grad, dtype, "gradient by the residual")
    for name in ("running_mean", "running_var"):
        close(getattr(norm, name), getattr(theirs, name), torch.float32, name)


@pytest.mark.parametrize("dtype", list(PRECISION)[:2], ids=str)
def test_evaluation_takes_the_running_statistics_and_leaves_them(dtype: torch.dtype) -> None:
    shape = (3, 40, 5)
    norm, theirs = norm_of(40, False), norm_of(40, False).double()
    before = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    maps, residual = maps_of(shape, dtype, 1), maps_of(shape, dtype, 2)
    with torch.no_grad():
        found = norm_sum_relu(maps, norm, residual, True)
        close(found, (theirs(maps.double()) + residual.double()).relu(), dtype, "result")
    assert all(torch.equal(before[name], buffer) for name, buffer in norm.named_buffers())


def test_any_order_in_memory_gives_the_same_bits() -> None:
    maps = maps_of((4, 9, 6), torch.float32, 1)
    results = []
    for order in (torch.channels_last, torch.contiguous_format):
        given = maps.clone(memory_format=order).requires_grad_()
        y = norm_sum_relu(given, norm_of(9, True), None, True)
        y.mean((2, 3)).sum().backward()  # its gradient is one number, spread without a copy
        assert given.grad is not None
        results.append((y, given.grad))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_what_is_not_a_number_is_not_hidden() -> None:
    """A run that diverges must be seen to: a maximum of such a number and zero may be zero."""
    maps = maps_of((2, 3, 2), torch.float32, 1)
    maps[0, 1] = torch.nan
    y = norm_sum_relu(maps, norm_of(3, True), None, True)
    assert y[:, 1].isnan().all()
    assert not y[:, ::2].isnan().any()


@pytest.mark.parametrize("shape", [SHAPES[1], SHAPES[6]], ids=str)
@pytest.mark.parametrize(("programs", "longest"), [(1, 0), (100, 0), (1, 99)])
def test_parts_are_added_up_in_each_way(
    shape: tuple[int, int, int], programs: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the second kernel, or one before it, some at a time."""
    changed = {"ALONE": 0, "LONGEST": longest, "PROGRAMS": programs, "ADDED": 16, "TILE_ROWS": 16}
    for name, value in changed.items():
        monkeypatch.setattr(fused_norms, name, value)
    test_results_gradients_and_statistics_are_those_of_torch(shape, torch.float32, True, True)


def test_tiles_of_each_kind_are_tested() -> None:
    shapes = [(count, channels, side, side) for count, channels, side in SHAPES]
    tiles = [Tiles(torch.empty(shape)) for shape in shapes]
    assert {it.parts for it in tiles} == {0, 1, FEW}
    assert {it.of_parts[2] for it in tiles} >= {0, 3, 4}
    assert any(it.shape[0] % TILE_ROWS for it in tiles)
    assert any(it.channels > TILE_COLUMNS for it in tiles)


@pytest.mark.parametrize(
    ("channels", "folds"), [(6, 3), (12, 2), (24, 1), (32, 1), (80, 1), (96, 0), (384, 0), (608, 0)]
)
def test_as_few_rows_are_taken_together_as_fill_a_tile(channels: int, folds: int) -> None:
    assert folds_of(64, channels) == folds
    assert folds_of(63, channels) == 0


def test_every_number_that_is_read_was_written() -> None:
    """With memory that is not a number when it is taken."""
    torch.use_deterministic_algorithms(True)  # fills it
    try:
        assert torch.empty(1, device=DEVICE).isnan()
        maps = maps_of((3, 65, 7), torch.float32, 1).requires_grad_()
        y = norm_sum_relu(maps, norm := norm_of(65, True), maps, True)
        y.square().sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)
    assert norm.running_var is not None
    for found in (y, maps.grad, norm.weight.grad, norm.bias.grad, norm.running_var):
        assert found is not None
        assert found.isfinite().all()


def test_one_value_has_no_variance() -> None:
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        norm_sum_relu(torch.ones(1, 4, 1, 1, device=DEVICE), norm_of(4, True), None, True)


@pytest.mark.slow
def test_trying_them_out_notices_wrong_results(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [Tiles(torch.empty(2, channels, side, side)) for channels, side in fused_norms.TRIED]
    assert [it.parts for it in tried] == [0, FEW, 1]
    try_out(DEVICE.type)
    right = fused_norms._backward

    def wrong(*given: Any) -> tuple[Tensor, ...]:
        to_maps, *others = right(*given)
        return to_maps * 2, *others

    monkeypatch.setattr(fused_norms, "_backward", wrong)
    with pytest.raises(ArithmeticError):
        try_out(DEVICE.type)
