"""What an exception says of the device: whether memory was short, or the device is lost."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

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
    """Whether an exception, or one that it came of, says that GPU or machine lacked memory.

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


def device_is_lost(
    device: "torch.device", synchronize: "Callable[[torch.device], None] | None" = None
) -> bool:
    """Whether nothing in this process works any more on a GPU, as after an illegal access.

    Such an error is told again and again until the process ends.
    """
    if device.type != "cuda":
        return False
    if synchronize is None:
        import torch

        synchronize = torch.cuda.synchronize
    for _ in range(2):  # one that has passed is told once
        try:
            synchronize(device)
        except RuntimeError:
            continue
        return False
    return True
