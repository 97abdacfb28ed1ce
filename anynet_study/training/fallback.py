"""Which of the fast engine's options to give up when a run does not fit or is not supported."""

import dataclasses
from typing import Any

import torch

from anynet_study.training.options import Options


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of torch says that memory, of GPU or machine, was short."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return "not enough memory" in text or "out of memory" in text


def step_down(options: Options, error: Exception, device_type: str) -> tuple[Options, str] | None:
    """The next slower way to train, and what is given up; None: nothing is left to give up.

    A run never fails for speed's sake. Short of memory: fewer runs at a time, then datasets
    streamed instead of resident, then activations computed twice. On a GPU any other error of
    torch's: no graph, then float32 throughout, then torch's own layers.
    """
    ladder: list[tuple[str, Any]] = []
    if is_out_of_memory(error):
        ladder = [("at_once", max(1, options.at_once // 2)), ("resident", False)]
        ladder = [*(ladder if device_type != "cpu" else []), ("recompute", True)]
    elif device_type != "cpu" and isinstance(error, RuntimeError):
        ladder = [("graph", False), ("measured", False), ("rewrites", False)]
    for name, value in ladder:
        if getattr(options, name) != value:
            return dataclasses.replace(options, **{name: value}), SAID[name].format(value)
    return None


SAID = {
    "at_once": "{} at a time",
    "resident": "datasets streamed",
    "recompute": "activations computed twice",
    "graph": "no CUDA graph",
    "measured": "float32 throughout",
    "rewrites": "torch's own layers",
}
