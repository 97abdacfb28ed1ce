"""Products of rows and matrices, each by whichever of torch's kernels is quicker at its shape.

Rules of this package are functions of shapes alone, so that a run is repeatable bit for bit; their
numbers were measured in one thread of a CPU with AVX-512 (`python -m benchmarks.rewrites`).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

#: With fewer rows the start of a convolution costs more than it saves.
MANY_ROWS = 4096
#: Elements of a matrix from which a convolution multiplies many rows quicker than a matrix product.
LARGE_MATRIX = 2048
#: Matrix products lose speed where the columns do not fill registers.
REGISTER = 16
#: Side of the maps that rows are dressed as for a convolution: any that divides `MANY_ROWS`.
SIDE = 16


def multiply(rows: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `rows` (m, k) times the transpose of `matrix` (n, k), plus `bias` (n,) if any."""
    if _convolves(rows, matrix.shape[0], matrix):
        return _convolved(rows, matrix, bias)
    return F.linear(rows, matrix, bias)


def multiply_back(rows: Tensor, matrix: Tensor, into: Tensor | None = None) -> Tensor:
    """Return `rows` (m, n) times `matrix` (n, k), or that added to `into` (m, k), in place."""
    if into is not None:
        return into.addmm_(rows, matrix)
    if _convolves(rows, matrix.shape[1], matrix):
        return _convolved(rows, matrix.t(), None)
    return rows.mm(matrix)


def _convolves(rows: Tensor, columns: int, matrix: Tensor) -> bool:
    """Whether a convolution is quicker than a product that has so many columns."""
    if len(rows) < MANY_ROWS or len(rows) % (SIDE * SIDE):
        return False
    return columns % REGISTER != 0 or matrix.numel() >= LARGE_MATRIX


def _convolved(rows: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    n, k = matrix.shape
    maps = rows.view(-1, SIDE, SIDE, k).permute(0, 3, 1, 2)
    product = torch.conv2d(maps, matrix.reshape(n, k, 1, 1), bias)
    return product.permute(0, 2, 3, 1).reshape(-1, n)


def outer(left: Tensor, right: Tensor) -> Tensor:
    """Return the transpose of `left` (m, k) times `right` (m, n): (k, n)."""
    if left.shape[1] <= right.shape[1]:
        return left.t().mm(right)
    return right.t().mm(left).t()
