"""Products of rows and matrices, each by whichever of torch's kernels is quicker at its shape.

Rules of this package are functions of shapes alone, so that a run is repeatable bit for bit; their
numbers were measured in one thread of a CPU with AVX-512 (`python -m benchmarks.rewrites`).
"""

import torch
from torch import Tensor

#: With fewer rows the start of a convolution costs more than it saves.
MANY_ROWS = 4096
#: Elements of a matrix from which a convolution multiplies many rows quicker than a matrix product.
LARGE_MATRIX = 2048
#: Matrix products lose speed where the columns do not fill registers.
REGISTER = 16
#: Side of the maps that rows are dressed as for a convolution: any that divides `MANY_ROWS`.
SIDE = 16


def multiply(
    rows: Tensor, matrix: Tensor, bias: Tensor | None = None, into: Tensor | None = None
) -> Tensor:
    """Return `rows` (m, k) times `matrix` (k, n), plus `bias` (n,) if any: (m, n).

    Or the product added to `into` (m, n), in place.
    """
    if into is not None:
        return into.addmm_(rows, matrix)
    narrow = matrix.shape[1] % REGISTER != 0
    many = len(rows) >= MANY_ROWS and len(rows) % (SIDE * SIDE) == 0
    if many and (narrow or matrix.numel() >= LARGE_MATRIX):
        k, n = matrix.shape
        maps = rows.view(-1, SIDE, SIDE, k).permute(0, 3, 1, 2)
        product = torch.conv2d(maps, matrix.t().reshape(n, k, 1, 1), bias)
        return product.permute(0, 2, 3, 1).reshape(-1, n)
    if bias is None:
        return rows.mm(matrix)
    return torch.addmm(bias, rows, matrix)


def outer(left: Tensor, right: Tensor) -> Tensor:
    """Return the transpose of `left` (m, k) times `right` (m, n): (k, n)."""
    if left.shape[1] <= right.shape[1]:
        return left.t().mm(right)
    return right.t().mm(left).t()
