"""The compiled kernels as operators of torch: `torch.ops.anynet.NAME`.

Each checks what it is given, says in its schema what it changes, and gives empty tensors of the
right shapes for tensors without numbers (`device="meta"`). Rows are (images * side * side,
channels). They have no gradients of their own: the passes back are operators, too, which
`rewrites` puts together.
"""

from typing import Any

import torch
from torch import Tensor

from anynet_study.models.kernels import function

#: Of a norm: the kernels keep some numbers of each channel on the stack.
MOST_CHANNELS = 1 << 14
#: The types that kernels are compiled for.
TYPES = {torch.float32: "float32", torch.float64: "float64"}

#: What is passed to a kernel as it is.
_PLAIN = {int, float, bool, type(None)}
_LIBRARY = torch.library.Library("anynet", "DEF")
_NORM = "Tensor weight, Tensor bias"
_STATISTICS = "Tensor(b!) running_mean, Tensor(c!) running_var, Tensor(d!) batches"
_TRAINED = f"{_NORM}, {_STATISTICS}, float momentum, float eps, str instructions"


def _check(operator: str, like: Tensor, *groups: tuple[Any, ...]) -> None:
    """Raise ValueError unless the tensors of each group are contiguous, and of its shape.

    And numbers of the type of `like`, on its device. A group: its names, shape and tensors (None
    apart).
    """
    dtype, on_cpu = like.dtype, like.is_cpu
    if dtype not in TYPES:
        raise ValueError(f"anynet::{operator}: there is no kernel for {dtype}")
    for names, shape, *tensors in groups:
        for tensor in tensors:
            if tensor is not None and not (
                tensor.shape == shape
                and tensor.dtype is dtype
                and tensor.is_cpu is on_cpu
                and tensor.is_contiguous()
            ):
                raise ValueError(
                    f"anynet::{operator}: {names} must be contiguous {dtype} of shape {shape} on "
                    f"{like.device}; one is {tensor.dtype} of shape {tuple(tensor.shape)}, strides "
                    f"{tensor.stride()}, on {tensor.device}"
                )


def kernels_take(dtype: torch.dtype, *tensors: Tensor | None) -> bool:
    """Whether kernels are for `dtype`, and these (None apart) are contiguous numbers of it."""
    return dtype in TYPES and all(
        tensor is None or (tensor.dtype is dtype and tensor.is_contiguous()) for tensor in tensors
    )


def _check_norm(operator: str, rows: int, channels: int, batches: Tensor | None = None) -> None:
    if channels > MOST_CHANNELS or rows < 2:
        raise ValueError(
            f"anynet::{operator}: {rows} rows of {channels} channels; legal: 2 rows or more, of at "
            f"most {MOST_CHANNELS}"
        )
    if batches is not None and (batches.dtype != torch.int64 or batches.numel() != 1):
        raise ValueError(f"anynet::{operator}: batches must be one int64")


def _call(name: str, instructions: str, like: Tensor, *others: Any) -> None:
    """Call a kernel with the addresses of tensors, and all else as it is."""
    if like.is_meta:
        return
    function(name, TYPES[like.dtype], instructions)(
        like.data_ptr(),
        *[given if type(given) in _PLAIN else given.data_ptr() for given in others],
    )


def _workspace(like: Tensor, channels: int, columns: int, instructions: str) -> Tensor:
    """Memory for what the kernels of pointwise.c pack."""
    if like.is_meta:
        return like
    needed = function("pointwise_workspace", TYPES[like.dtype], instructions)
    return like.new_empty(needed(channels, columns))


def _pointwise_forward(
    rows: Tensor, factors: Tensor, residual: Tensor | None, relu: bool, *trained: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    *state, batches, momentum, eps, instructions = trained
    (count, channels), columns = rows.shape, len(factors)
    _check(
        "pointwise_forward",
        rows,
        ("rows", (count, channels), rows),
        ("factors", (columns, channels), factors),
        ("residual", (count, columns), residual),
        ("weight, bias and statistics", (columns,), *state),
    )
    _check_norm("pointwise_forward", count, columns, batches)
    z = rows.new_empty(count, columns)
    y, mean, rstd = torch.empty_like(z), z.new_empty(columns), z.new_empty(columns)
    how = relu, count, channels, columns, momentum, eps
    results = mean, rstd, _workspace(rows, channels, columns, instructions), z, y
    inputs = rows, factors, residual
    _call("pointwise_forward", instructions, *inputs, *how, *state, batches, *results)
    return z, y, mean, rstd


def _pointwise_backward(
    gradient: Tensor, rows: Tensor, factors: Tensor, z: Tensor, y: Tensor | None, *how: Any
) -> tuple[Tensor, Tensor, Tensor]:
    relu, *norms, to_rows, adds, instructions = how
    (count, channels), columns = rows.shape, len(factors)
    _check(
        "pointwise_backward",
        rows,
        ("gradient, z and y", (count, columns), gradient, z, y),
        ("rows and to_rows", (count, channels), rows, to_rows),
        ("factors", (columns, channels), factors),
        ("weight, bias, mean and rstd", (columns,), *norms),
    )
    _check_norm("pointwise_backward", count, columns)
    found = torch.empty_like(factors), z.new_empty(columns), z.new_empty(columns)
    inputs = rows, factors, gradient, z, y, relu, count, channels, columns
    workspace = _workspace(rows, channels, columns, instructions)
    _call("pointwise_backward", instructions, *inputs, *norms, workspace, *found, adds, to_rows)
    return found


def _define(implementation: Any, schema: str) -> Any:
    """Register an operator; what it changes is marked in the schema."""
    name = implementation.__name__.removeprefix("_")
    _LIBRARY.define(name + schema)
    for key in ("CPU", "Meta"):
        _LIBRARY.impl(name, implementation, key)
    return getattr(torch.ops.anynet, name).default


#: z = rows times the transpose of `factors` (columns, channels), y = relu(norm(z) + residual) with
#: the statistics of the batch; z, y, mean and rstd.
pointwise_forward = _define(
    _pointwise_forward,
    f"(Tensor rows, Tensor factors, Tensor? residual, bool relu, {_TRAINED}) "
    "-> (Tensor, Tensor, Tensor, Tensor)",
)
#: The gradients by factors, weight and bias. `to_rows`, if given, becomes the one by rows, or that
#: is added to it. Where `y` is given, there was a residual, and `gradient` becomes the one by that.
pointwise_backward = _define(
    _pointwise_backward,
    "(Tensor(a!) gradient, Tensor rows, Tensor factors, Tensor z, Tensor? y, bool relu, "
    f"{_NORM}, Tensor mean, Tensor rstd, Tensor(b!)? to_rows, bool adds, str instructions) "
    "-> (Tensor, Tensor, Tensor)",
)
