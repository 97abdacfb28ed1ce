"""The kernels of a GPU go through Triton's own compiler, and are compiled for few variants."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from interpreted import norm_kernels

PROGRAM = Path(__file__).with_name("compile_kernels.py")
KERNELS = {"_batch_statistics", "_normalise", "_sum_gradients", "_gradients"}


def variants(what: str, capability: int, cache: Path) -> dict[str, int]:
    """What the program prints: variants by kernel."""
    done = subprocess.run(
        [sys.executable, "-W", "error", PROGRAM, what, str(capability)],
        capture_output=True,
        text=True,
        env={"PATH": "", "TRITON_CACHE_DIR": str(cache)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    assert set(found) == KERNELS
    return found


@pytest.mark.slow
def test_variants_do_not_grow_with_architectures_and_batches(tmp_path: Path) -> None:
    """Of 15 architectures, each with a batch of its own; Triton's keys tell variants apart."""
    assert sum(variants("count", 90, tmp_path).values()) == norm_kernels.MOST_VARIANTS


@pytest.mark.slow
@pytest.mark.parametrize("capability", [80, 90])
def test_they_compile_for_a_gpu_that_is_not_here(capability: int, tmp_path: Path) -> None:
    """Triton's interpreter runs what its compiler refuses."""
    variants("compile", capability, tmp_path)
    assert list(tmp_path.rglob("*.cubin"))
