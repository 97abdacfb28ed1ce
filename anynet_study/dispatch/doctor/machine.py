"""This machine: what it would train on."""

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
    # Looked for by name: importing what calls them would import torch.
    parts = files("anynet_study").joinpath("models", "rewrites").iterdir()
    if any(part.name.startswith("_kernels.") for part in parts):
        yield Finding("compiled kernels", "there")
    else:
        advice = "CPUs train faster with them: install again where there is a C compiler (gcc)"
        yield Finding("compiled kernels", "none", advice)
