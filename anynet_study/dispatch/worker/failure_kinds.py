"""What kind of failure an exception of training is. Imports torch."""

import errno
from collections.abc import Iterator
from typing import Literal

from anynet_study.errors import UserError
from anynet_study.training.cuda.failures import is_out_of_memory

FailureKind = Literal["oom", "data", "node", "code"]

#: No room for a file. The same for every run, and gone once someone has made room.
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})
#: How a network file system, or a disk that is breaking, says that it is out of reach from here;
#: and a machine, that it has no more processes or open files to give.
OUT_OF_REACH = frozenset(
    {
        *(errno.EIO, errno.ESTALE, errno.EREMOTEIO, errno.ENODEV, errno.ENXIO),
        *(errno.ENOTCONN, errno.ESHUTDOWN, errno.ETIMEDOUT, errno.ECONNREFUSED),
        *(errno.ECONNRESET, errno.ECONNABORTED, errno.ENETDOWN, errno.ENETUNREACH),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
    }
)
#: How torch and its libraries say that a GPU, its driver or the machine is not well, in lower case.
UNWELL = (
    "no cuda gpus are available",
    "cuda-capable device",
    "cuda driver",
    "uncorrectable ecc",
    "unspecified launch failure",
    "nvml",
    "can't start new thread",
)


def classify(error: BaseException) -> FailureKind:
    """The kind of failure behind an exception raised by training.

    Not to be asked of a full disk, which is no failure of a run: see `disk_is_full`.
    """
    if is_out_of_memory(error):
        return "oom"
    each = list(_with_causes(error))
    if any(isinstance(it, OSError) and it.errno in OUT_OF_REACH for it in each):
        return "node"
    if any(words in str(it).lower() for it in each for words in UNWELL):
        return "node"
    bad_data = (UserError, OSError, ValueError, IndexError)  # UserError: a damaged dataset
    return "data" if isinstance(error, bad_data) else "code"


def disk_is_full(error: BaseException) -> bool:
    """Whether an exception, or one that it came of, says that a disk or a quota is full."""
    return any(isinstance(it, OSError) and it.errno in FULL_DISK for it in _with_causes(error))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__
