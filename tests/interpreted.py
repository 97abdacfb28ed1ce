"""Kernels in Triton: on a CPU by its interpreter, on a GPU compiled."""

import os
from typing import Any

import numpy as np
import pytest
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
pytest.importorskip("triton", reason="triton is not installed")

import triton.language as tl  # noqa: E402
from triton.runtime import interpreter  # noqa: E402

from anynet_study.engine.models import fused_norms  # noqa: E402

converted = interpreter._convert_float


def rounded(given: np.ndarray, from_dtype: Any, to_dtype: Any, mode: Any) -> np.ndarray:
    """As a GPU rounds to bfloat16: to the nearest. The interpreter (3.9) cuts off."""
    if (from_dtype, to_dtype) != (tl.float32, tl.bfloat16):
        return converted(given, from_dtype, to_dtype, mode)  # type: ignore[no-any-return]
    return torch.from_numpy(given).bfloat16().view(torch.uint16).numpy()


interpreter._convert_float = rounded


def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a kernel have few programs, of large tiles: the interpreter takes one after the other."""
    monkeypatch.setattr(fused_norms, "FEW", 2)
    monkeypatch.setattr(fused_norms, "TILE_ROWS", 512)
