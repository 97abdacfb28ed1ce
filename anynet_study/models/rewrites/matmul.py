"""Products of rows and matrices, each by whichever of torch's kernels is quicker.

Rules of this package are functions of shapes and types alone, so that a run is repeatable bit for
bit; their numbers were measured in one thread of a CPU with AVX-512
(`python -m benchmarks.rewrites`).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

#: Whether oneDNN's matrix product is there.
ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
#: Rows or multiplications from which it is quicker than BLAS, more so where columns do not fill
#: registers; with fewer, its start costs more than it saves.
MANY_ROWS = 4096
MANY_PRODUCTS = 1 << 23
#: Columns from which BLAS is as quick with the narrower matrix on the right.
MANY_COLUMNS = 32


def multiply(rows: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `rows` (m, k) times the transpose of `matrix` (n, k), plus `bias` (n,) if any."""
    if _is_for_onednn(rows, matrix):
        product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, matrix, bias, "none", [], "")
        return product
    return F.linear(rows, matrix, bias)


def _is_for_onednn(rows: Tensor, matrix: Tensor) -> bool:
    if not (ONEDNN and rows.dtype == torch.float32 and torch.backends.mkldnn.enabled):
        return False
    return len(rows) >= MANY_ROWS or len(rows) * matrix.numel() >= MANY_PRODUCTS


def multiply_back(rows: Tensor, matrix: Tensor, into: Tensor | None = None) -> Tensor:
    """Return `rows` (m, n) times `matrix` (n, k), or that added to `into` (m, k), in place."""
    return multiply(rows, matrix.t()) if into is None else into.addmm_(rows, matrix)


def outer(left: Tensor, right: Tensor) -> Tensor:
    """Return the transpose of `left` (m, k) times `right` (m, n): (k, n)."""
    if left.shape[1] <= right.shape[1] or right.shape[1] >= MANY_COLUMNS:
        return left.t().mm(right)
    return right.t().mm(left).t()
