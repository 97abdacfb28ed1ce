"""The backend that computes networks: stated by the sweep, recorded with every run."""

import platform
import re
import sys
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from anynet_study.core.errors import counted, first_line

#: plain: torch's own layers; rewritten: exact rewrites of them. Both are the same function, up to
#: rounding.
BackendKind = Literal["plain", "rewritten"]


@dataclass(frozen=True)
class Backend:
    """All that numbers depend on beside a run's specification and the versions of libraries."""

    kind: BackendKind
    #: The widest that torch's kernels may use on this CPU, as avx512; of a GPU its architecture, as
    #: sm_90.
    instruction_set: str
    #: Of torch on the CPU.
    threads: int
    device_type: Literal["cpu", "cuda"] = "cpu"
    #: Convolutions compute in bfloat16; otherwise in float32 (TF32 on GPUs that have it).
    bfloat16: bool = False
    #: In bfloat16 on a GPU: batch norms, sums and ReLUs by kernels in Triton (`fused_norms`).
    triton: bool = False
    #: In bfloat16 on a GPU: the model whose table says how convolutions are computed
    #: (`convolution_ways`); "": a rule does.
    table: str = ""

    @property
    def instructions(self) -> str:
        """The instruction set, the precision and the options, as they are recorded with a run."""
        options = ["bfloat16"] * self.bfloat16 + ["Triton"] * self.triton
        table = [f"table of {self.table}"] if self.table else []
        return ", ".join([self.instruction_set, *options, *table])

    def without_options(self, kind: BackendKind) -> "Backend":
        """Return this backend with torch's own norms and convolutions."""
        return replace(self, kind=kind, triton=False, table="")

    def __str__(self) -> str:
        return f"{self.kind} on {self.instructions} in {counted(self.threads, 'thread')}"


def backend_here(
    kind: BackendKind | None = None, device_type: Literal["cpu", "cuda"] = "cpu"
) -> Backend:
    """The backend of this kind, by default rewritten, in this process.

    Set torch's threads before. On a GPU, Triton's kernels are tried out.
    """
    import torch

    kind, threads = kind or "rewritten", torch.get_num_threads()
    if device_type == "cpu":
        # Less than the CPU has where the environment limits torch (ATEN_CPU_CAPABILITY).
        return Backend(kind, torch.backends.cpu.get_cpu_capability().lower(), threads)
    instructions = "sm_{}{}".format(*torch.cuda.get_device_capability())
    found = Backend(kind, instructions, threads, device_type)
    if kind == "plain":
        return found
    from anynet_study.engine.models.convolution_ways import table_of

    model = processor("cuda")
    return replace(found, triton=_triton_works(), table=model if table_of(model) else "")


@cache
def _triton_works() -> bool:
    """Tell whether Triton's kernels give the results of torch's on this GPU; if not, why is
    told.
    """
    if not has_bfloat16():
        return False
    try:
        from anynet_study.engine.models.fused_norms import try_out

        try_out("cuda")
    except Exception as error:  # it is missing, or a compiler is, or the GPU is too old
        print(f"torch's own batch norms: {first_line(error)}", file=sys.stderr, flush=True)
        return False
    return True


def has_bfloat16() -> bool:
    """Tell whether the current GPU computes in bfloat16 without detours."""
    import torch

    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


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
