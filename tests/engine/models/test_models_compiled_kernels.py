"""The kernels of a GPU go through Triton's own compiler, and are compiled for few variants."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from interpreted import fused_norms

PROGRAM = Path(__file__).with_name("compile_kernels.py")
KERNELS = {"batch_statistics", "add_parts", "normalise", "sum_gradients", "gradients"}


@pytest.mark.slow
def test_the_kernels_of_a_gpu_compile_and_are_few(tmp_path: Path) -> None:
    """Triton's interpreter runs what its compiler refuses.

    Variants do not grow with architectures and batches: of 15, each with a batch of its own.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", PROGRAM],
        capture_output=True,
        text=True,
        env={"PATH": "", "TRITON_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    variants: dict[str, dict[str, int]] = json.loads(done.stdout)
    assert all(set(found) == KERNELS for found in variants.values())
    assert sum(variants["counted"].values()) == fused_norms.MOST_VARIANTS
    made = len(list(tmp_path.rglob("*.cubin")))
    assert made == sum(sum(variants[capability].values()) for capability in ("80", "90"))
