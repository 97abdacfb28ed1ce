"""How the fast engine trains, and which of it is given up when a run does not fit.

Never what is trained: results are the same up to rounding.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from anynet_study.training.cuda.failures import is_out_of_memory

Engine = Literal["fast", "reference"]


@dataclass(frozen=True)
class Options:
    """Switches of the fast engine; those of GPUs have no effect on a CPU."""

    #: Exact rewrites of layers on small feature maps.
    rewrites: bool = True
    #: Channels last in memory, on the CPU.
    channels_last: bool = True
    #: GPU: precision and memory format of each layer by measurement; else float32 (TF32).
    measured: bool = True
    #: GPU: the whole step as one CUDA graph.
    graph: bool = True
    #: GPU: whole datasets in its memory.
    resident: bool = True
    #: Activations are computed again in the backward pass, a stage at a time, to save memory.
    recompute: bool = False
    #: GPU: runs trained at the same time.
    at_once: int = 1

    def records_graphs(self, device_type: str) -> bool:
        """Whether steps are CUDA graphs."""
        return self.graph and device_type == "cuda"

    def keeps_channels_last(self, device_type: str) -> bool:
        """Whether batches stay in the memory format in which they are made.

        On a GPU only where each layer says what it wants: the format would spread to all layers,
        and grouped convolutions lose by it.
        """
        return self.channels_last if device_type == "cpu" else self.measured


#: How torch says that cuDNN can compute a layer in no way: one that works elsewhere is mostly short
#: of memory for its workspace, of which cuDNN's own complaint is swallowed.
NO_WAY = "unable to find an engine"
#: What a message says of an option that was given up.
SAID = {
    "at_once": "{} at a time",
    "resident": "datasets streamed",
    "recompute": "activations computed twice",
    "graph": "no CUDA graph",
    "measured": "float32 throughout",
    "rewrites": "torch's own layers",
}


def step_down(options: Options, error: Exception, device_type: str) -> tuple[Options, str] | None:
    """Return the next slower way to train and what is given up; None if nothing is left.

    A run never fails for speed's sake. Short of memory: fewer runs at a time, then datasets
    streamed instead of resident, then activations computed twice. On a GPU any other error of
    torch's: no graph, then float32 throughout, then torch's own layers. What may be either is
    taken for the first, then for the second.
    """
    on_gpu = device_type != "cpu"
    unclear = on_gpu and NO_WAY in str(error).lower()
    ladder: list[tuple[str, Any]] = []
    if unclear or is_out_of_memory(error):
        ladder = [("at_once", max(1, options.at_once // 2)), ("resident", False)]
        ladder = [*(ladder if on_gpu else []), ("recompute", True)]
    if unclear or (on_gpu and isinstance(error, RuntimeError) and not ladder):
        ladder += [("graph", False), ("measured", False), ("rewrites", False)]
    for name, value in ladder:
        if getattr(options, name) != value:
            return dataclasses.replace(options, **{name: value}), SAID[name].format(value)
    return None


def with_less_memory(options: Options, steps: int) -> Options:
    """Return what to begin with after a run was killed `steps` times for want of memory.

    After the first time one run is trained at a time; from the second on, datasets are also
    streamed and activations computed twice.
    """
    if steps:
        options = dataclasses.replace(options, at_once=1)
    if steps > 1:
        options = dataclasses.replace(options, resident=False, recompute=True)
    return options
