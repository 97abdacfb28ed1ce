"""Which of the fast engine's options to give up when a run does not fit or is not supported."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from anynet_study.training.options import Options

#: How torch, its libraries and the system say that memory was short, in lower case.
SHORT = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "alloc_failed",
    "allocation_failed",
)
#: How torch says that cuDNN can compute a layer in no way: one that works elsewhere is mostly short
#: of memory for its workspace, of which cuDNN's own complaint is swallowed.
NO_WAY = "unable to find an engine"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception, or one that it came of, says that GPU or machine lacked memory.

    Ending a recording that broke off raises once more, of another kind.
    """
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, (MemoryError, torch.OutOfMemoryError)):
            return True
        text = str(each).lower()
        if any(words in text for words in SHORT):
            return True
        each = each.__context__
    return False


def device_is_lost(
    device: torch.device, synchronize: Callable[[torch.device], None] | None = None
) -> bool:
    """Whether nothing in this process works any more on a GPU, as after an illegal access.

    Such an error is told again and again until the process ends.
    """
    if device.type != "cuda":
        return False
    synchronize = synchronize or torch.cuda.synchronize
    for _ in range(2):  # one that has passed is told once
        try:
            synchronize(device)
        except RuntimeError:
            continue
        return False
    return True


def step_down(options: Options, error: Exception, device_type: str) -> tuple[Options, str] | None:
    """The next slower way to train, and what is given up; None: nothing is left to give up.

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
    """What to begin with after a run was killed for want of memory so many times.

    One run at a time at first, then datasets streamed and activations computed twice as well.
    """
    if steps:
        options = dataclasses.replace(options, at_once=1)
    if steps > 1:
        options = dataclasses.replace(options, resident=False, recompute=True)
    return options


SAID = {
    "at_once": "{} at a time",
    "resident": "datasets streamed",
    "recompute": "activations computed twice",
    "graph": "no CUDA graph",
    "measured": "float32 throughout",
    "rewrites": "torch's own layers",
}
