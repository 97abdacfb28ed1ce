"""This machine: what it would train on."""

import ctypes
from collections.abc import Iterator
from importlib.resources import files

import psutil

from anynet_study.dispatch.cost.devices import gpu_here, gpus_here
from anynet_study.dispatch.doctor.finding import Finding


def probe_machine() -> Iterator[Finding]:
    """Cores, memory and GPUs that this process may use, and what was compiled for the first."""
    cores = len(psutil.Process().cpu_affinity())
    memory = psutil.virtual_memory().total / 2**30
    yield Finding("this machine", f"{cores} cores, {memory:.0f} GiB of memory")
    count = len(gpus_here())
    if count:
        yield Finding("GPUs here", f"{count}: {gpu_here() or 'of an unknown kind'}")
    else:
        yield Finding("GPUs here", "none", "jobs may have them all the same: see partitions")
    yield _kernels()


def _kernels() -> Finding:
    """What was compiled for CPUs; without importing what calls it, which would import torch."""
    parts = files("anynet_study").joinpath("models").iterdir()
    found = [str(part) for part in parts if part.name.startswith("_kernels.")]
    try:
        library = ctypes.CDLL(found[0]) if found else None
    except OSError:  # of another kind of machine
        library = None
    if library is None:
        advice = "CPUs train faster with them: install again where there is a C compiler (gcc)"
        return Finding("compiled kernels", "none", advice)
    has = getattr(library, "has_avx512", None)
    wide = has is not None and has()
    return Finding("compiled kernels", "there" if wide else "there, but for those for AVX-512")
