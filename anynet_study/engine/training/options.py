"""The options of the fast engine, and which of them are given up when a run does not fit.

Never what is trained: results are the same up to rounding.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture
from anynet_study.engine.models import Backend, backend_here, has_bfloat16

if TYPE_CHECKING:
    import torch

    from anynet_study.engine.training.recipe import Recipe
    from anynet_study.engine.training.spec import RunSpec

Engine = Literal["fast", "reference"]
#: Images in a batch of a test pass, at most, on a CPU; on a GPU this many pixels, if they are more.
LARGEST_BATCH = 256
LARGEST_PIXELS = 1 << 20


@dataclass(frozen=True)
class Options:
    """Switches of the fast engine; those of GPUs have no effect on a CPU."""

    #: By default the rewritten one of a CPU; `backend_here` gives that of a GPU.
    backend: Backend = field(default_factory=backend_here)
    #: Channels last in memory, on the CPU.
    channels_last: bool = True
    #: Convolutions compute in bfloat16, channels last in memory; else in float32 (on a GPU TF32).
    #: What a recipe leaves open: see `fitting`.
    bfloat16: bool = True
    #: GPU: the whole step as one CUDA graph.
    graph: bool = True
    #: GPU: whole datasets in its memory.
    resident: bool = True
    #: Activations are computed again in the backward pass, a stage at a time, to save memory.
    recompute: bool = False
    #: GPU: runs trained at the same time.
    at_once: int = 1


def largest_batch(resolution: int, device_type: str) -> int:
    """The most images in a batch of a test pass, of `resolution` pixels a side.

    A GPU takes small images many at a time: a batch costs its host as much as it does for few.
    """
    if device_type == "cpu":
        return LARGEST_BATCH
    return max(LARGEST_BATCH, LARGEST_PIXELS // resolution**2)


def fitting(options: Options, spec: "RunSpec", device_type: str) -> Options:
    """Return the options with which a run can be trained.

    bfloat16 is used if the recipe states it; if the recipe leaves it open, only on GPUs that can
    compute in it. A network that is no AnyNetX is trained with torch's own layers, in float32,
    and on a GPU without a graph, since its module may do anything.

    Raises UserError where the recipe states bfloat16, and network or GPU do not allow it, and
    ValueError where the backend is of another type of device.
    """
    if options.backend.device_type != device_type:
        raise ValueError(f"a backend of {options.backend.device_type} for a run on {device_type}")
    stated, foreign = spec.recipe.precision, not isinstance(spec.architecture, Architecture)
    possible = not foreign and (device_type == "cpu" or has_bfloat16())
    if stated == "bfloat16" and not possible:
        raise UserError(f"precision bfloat16: {NO_BFLOAT16[foreign]}")
    used = device_type != "cpu" and options.bfloat16 if stated is None else stated == "bfloat16"
    backend = options.backend
    if not (used and possible):  # what is recorded is what was used
        backend = backend.without_options(backend.kind)
    backend = dataclasses.replace(backend, bfloat16=used and possible)
    options = dataclasses.replace(options, bfloat16=used and possible, backend=backend)
    if not foreign:
        return options
    plain = options.backend.without_options("plain")
    options = dataclasses.replace(options, backend=plain, channels_last=False, recompute=False)
    return options if device_type == "cpu" else dataclasses.replace(options, graph=False)


#: Why it cannot be, by whether the network is foreign.
NO_BFLOAT16 = {True: "only for architectures of an AnyNetX", False: "this GPU has no such numbers"}
#: Torch's words when cuDNN finds no way to compute a layer. If the layer works elsewhere, the
#: reason is mostly too little memory for cuDNN's workspace, which torch does not report.
NO_WAY = "unable to find an engine"
#: What a message says of an option that was given up.
SAID = {
    "at_once": "{} at a time",
    "resident": "datasets streamed",
    "recompute": "activations computed twice",
    "graph": "no CUDA graph",
    "bfloat16": "float32 throughout",
    "backend": "torch's own layers",
}


def step_down(
    options: Options, error: Exception, recipe: "Recipe", device_type: str
) -> tuple[Options, str] | None:
    """Return the next slower way to train by `recipe` and what is given up; None if none is left.

    A run never fails for speed's sake. Short of memory: fewer runs at a time, then datasets
    streamed instead of resident, then activations computed twice. On a GPU an error of Triton's: no
    kernels in Triton. Any other error of torch's there: no graph, then float32 throughout unless
    the recipe states bfloat16, then torch's own layers. An error that may be of either kind is
    first treated as a lack of memory.
    """
    if options.backend.triton and "TritonError" in (it.__name__ for it in type(error).__mro__):
        by_torch = dataclasses.replace(options.backend, triton=False)
        return dataclasses.replace(options, backend=by_torch), "torch's own batch norms"
    on_gpu = device_type != "cpu"
    unclear = on_gpu and NO_WAY in str(error).lower()
    ladder: list[tuple[str, Any]] = []
    if unclear or is_out_of_memory(error):
        ladder = [("at_once", max(1, options.at_once // 2)), ("resident", False)]
        ladder = [*(ladder if on_gpu else []), ("recompute", True)]
    if unclear or (on_gpu and isinstance(error, RuntimeError) and not ladder):
        plain = options.backend.without_options("plain")
        ladder += [("graph", False), ("bfloat16", False), ("backend", plain)]
    if recipe.precision is not None:
        ladder = [(name, value) for name, value in ladder if name != "bfloat16"]
    for name, value in ladder:
        if getattr(options, name) != value:
            return dataclasses.replace(options, **{name: value}), SAID[name].format(value)
    return None


def given_up(options: Options, spec: "RunSpec") -> list[str]:
    """Return in words what a run was trained without. `options`: the result of `fitting`."""
    usual = fitting(Options(backend=options.backend), spec, options.backend.device_type)
    names = ("resident", "recompute", "graph", "bfloat16")
    return [SAID[name] for name in names if getattr(options, name) != getattr(usual, name)]


def with_less_memory(options: Options, steps: int) -> Options:
    """Return what to begin with after a run was killed `steps` times for want of memory.

    After the first time one run is trained at a time, on a GPU without CUDA graphs, whose memory
    serves nothing else, and whose recording may be what killed it; from the second on, datasets are
    also streamed and activations computed twice.
    """
    if steps:
        on_cpu = options.backend.device_type == "cpu"
        options = dataclasses.replace(options, at_once=1, graph=options.graph and on_cpu)
    if steps > 1:
        options = dataclasses.replace(options, resident=False, recompute=True)
    return options


#: How torch, its libraries and the system say that memory was short, in lower case.
SHORT_OF_MEMORY = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "alloc_failed",
    "allocation_failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception, or one that it came of, says that GPU or machine lacked memory.

    Ending a recording that broke off raises once more, of another kind.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryError":
            return True
        text = str(cause).lower()
        if any(words in text for words in SHORT_OF_MEMORY):
            return True
        cause = cause.__context__
    return False


def device_is_lost(device: "torch.device", error: Exception) -> bool:
    """Tell whether nothing in this process works any more on a GPU, as after an illegal access.

    Such an error is told again and again until the process ends. Some recordings that broke off,
    as `error` says, are as bad.
    """
    if device.type != "cuda":
        return False
    import torch

    from anynet_study.engine.training.graphs import BrokenRecordingError

    if isinstance(error, BrokenRecordingError):
        return True

    for _ in range(2):  # one that has passed is told once
        try:
            torch.cuda.synchronize(device)
        except RuntimeError:
            continue
        return False
    return True
