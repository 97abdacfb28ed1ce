"""How the fast engine trains; never what: results are the same up to rounding."""

from dataclasses import dataclass
from typing import Literal

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


#: Equal to the reference engine bit for bit, on a CPU.
EXACT = Options(rewrites=False, channels_last=False)
