"""Which device this machine trains on, without importing torch."""

import os
from pathlib import Path

DRIVER = Path("/proc/driver/nvidia/gpus")


def gpu_here(driver: Path = DRIVER) -> str:
    """The name of this machine's first GPU, "" where this process may use none."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return ""
    for path in sorted(driver.glob("*/information")):
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key == "Model":
                return value.strip()
    return ""
