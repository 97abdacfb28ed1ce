"""By which kernels a network is computed: resolved once by a worker, recorded with every run."""

import platform
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from anynet_study.errors import UserError, counted
from anynet_study.models.kernels import Instructions, compiled_kernels

#: plain: torch's own layers; rewritten: exact rewrites of them, by torch's kernels; compiled: these
#: with the kernels of csrc/ as well. All are the same function, up to rounding.
BackendKind = Literal["plain", "rewritten", "compiled"]


@dataclass(frozen=True)
class Backend:
    """What numbers depend on beside a run's specification and the versions of libraries."""

    kind: BackendKind
    #: The widest that a CPU's kernels, torch's and our own, may use, as avx512; of a GPU its
    #: architecture, as sm_90.
    instruction_set: str
    #: Of torch on the CPU.
    threads: int
    device_type: Literal["cpu", "cuda"] = "cpu"

    def __str__(self) -> str:
        return f"{self.kind} on {self.instruction_set} in {counted(self.threads, 'thread')}"

    @property
    def kernels(self) -> Instructions | None:
        """Those of csrc/ that layers use."""
        if self.kind != "compiled":
            return None
        return "avx512" if self.instruction_set == "avx512" else "avx2"


def resolve_backend(
    wanted: BackendKind | None = None, device_type: Literal["cpu", "cuda"] = "cpu"
) -> Backend:
    """The backend of this process; the best that it has unless one is `wanted`.

    Raises UserError where it cannot provide that one. Set torch's threads before.
    """
    import torch

    if device_type == "cuda":
        instructions = "sm_{}{}".format(*torch.cuda.get_device_capability())
        legal: list[BackendKind] = ["plain", "rewritten"]
    else:
        # Less than the CPU has where the environment limits torch (ATEN_CPU_CAPABILITY).
        instructions = torch.backends.cpu.get_cpu_capability().lower()
        legal = ["plain", "rewritten"]
        if instructions in ("avx2", "avx512") and compiled_kernels() in ("avx512", instructions):
            legal.append("compiled")
    if wanted is not None and wanted not in legal:
        raise UserError(
            f"launch.backend {wanted}: this machine has no compiled kernels for its "
            f"{'GPU' if device_type == 'cuda' else 'CPU'} ({instructions}); "
            f"legal here: {', '.join(legal)}"
        )
    return Backend(wanted or legal[-1], instructions, torch.get_num_threads(), device_type)


@cache
def processor(device_type: str) -> str:
    """The model of this machine's CPU or GPU."""
    if device_type == "cuda":
        import torch

        return torch.cuda.get_device_name()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def libraries() -> str:
    """Versions of the libraries that compute, as `torch 2.9.0, numpy 2.3.1, oneDNN 3.7.1`."""
    import torch

    found = [f"torch {torch.__version__}"]
    found.append(f"numpy {version('numpy')}")
    if torch.cuda.is_available():
        found += [f"CUDA {torch.version.cuda}", f"cuDNN {torch.backends.cudnn.version()}"]
    built = torch.__config__.show()
    for name, pattern in (
        ("MKL", r"Kernel Library Version ([\w.]+)"),
        ("oneDNN", r"DNN v([\d.]+)"),
    ):
        found += [f"{name} {number}" for number in re.findall(pattern, built)[:1]]
    return ", ".join(found)
