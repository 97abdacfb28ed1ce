"""List the devices on which this machine trains, without importing torch."""

import ctypes
import os
from pathlib import Path

DRIVER = Path("/proc/driver/nvidia/gpus")
#: The driver's library, which says the same where its files are out of sight: in some containers.
LIBRARY = "libnvidia-ml.so.1"


def gpus_here(driver: Path = DRIVER, library: str = LIBRARY) -> list[str]:
    """The GPUs of this machine that this process may use, each as CUDA_VISIBLE_DEVICES names it.

    These are numbers, or such as `GPU-8c9f...` and `MIG-...`.
    """
    chosen = _chosen()
    if chosen is not None:
        return chosen
    return [str(number) for number in range(len(_names(driver, library)))]


def gpu_here(driver: Path = DRIVER, library: str = LIBRARY) -> str:
    """The name of this machine's first GPU, "" where this process may use none."""
    return "" if _chosen() == [] else next(iter(_names(driver, library)), "")


def _chosen() -> list[str] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to this process; None if it leaves all."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return None
    named = [name.strip() for name in visible.split(",")]
    # Of what comes after one that is none, CUDA sees nothing.
    return named[: named.index("-1")] if "-1" in named else list(filter(None, named))


def _names(driver: Path, library: str) -> list[str]:
    """The names of the machine's GPUs, whether this process may use them or not."""
    paths = sorted(driver.glob("*/information"))
    lines = [path.read_text(encoding="utf-8").splitlines() for path in paths]
    pairs = [dict(line.split(":", 1) for line in part if ":" in line) for part in lines]
    return [pair.get("Model", "GPU").strip() for pair in pairs] or _names_by_library(library)


def _names_by_library(library: str) -> list[str]:
    try:
        nvml = ctypes.CDLL(library)
        if nvml.nvmlInit_v2() != 0:
            return []
    except (OSError, AttributeError):  # no driver
        return []
    count, names = ctypes.c_uint(), []
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for number in range(count.value):
        handle, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle))
        nvml.nvmlDeviceGetName(handle, text, len(text))
        names.append(text.value.decode(errors="replace") or "GPU")
    nvml.nvmlShutdown()
    return names
