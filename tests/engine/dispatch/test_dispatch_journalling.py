"""Failures are told apart by what was raised, and by what that came of."""

import errno
import os
from collections.abc import Callable

import numpy as np
import pytest
import torch

from anynet_study.core.errors import UserError
from anynet_study.engine.dispatch.journalling import classify, disk_is_full


def raised(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:
        act()
    return caught.value


def damaged(cause: OSError) -> Exception:
    """What opening a dataset raises where reading it failed."""

    def act() -> None:
        try:
            raise cause
        except OSError as error:
            raise UserError("pets: damaged dataset") from error

    return raised(act)


@pytest.mark.parametrize(
    "act",
    [
        lambda: torch.empty(1 << 55, dtype=torch.uint8),  # torch's allocator refuses, really
        lambda: np.empty(1 << 60, np.uint8),
        lambda: bytearray(1 << 62),
    ],
)
def test_what_cannot_be_allocated_is_out_of_memory(act: Callable[[], object]) -> None:
    assert classify(raised(act)) == "oom"


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
    ],
)
def test_other_words_for_want_of_memory(error: Exception) -> None:
    assert classify(error) == "oom"


def test_damaged_data_and_labels_that_no_class_has_are_data() -> None:
    logits, labels = torch.zeros(2, 3), torch.tensor([0, 7])
    assert classify(raised(lambda: torch.nn.functional.cross_entropy(logits, labels))) == "data"
    assert classify(UserError("train_images.npy: damaged dataset")) == "data"
    assert classify(raised(lambda: open("/no/such/file").close())) == "data"
    assert classify(raised(lambda: np.frombuffer(b"123", np.int64))) == "data"


@pytest.mark.parametrize("number", ["ESTALE", "EIO", "ETIMEDOUT", "ENOTCONN", "EMFILE"])
def test_a_file_system_out_of_reach_is_the_node_also_behind_damaged_data(number: str) -> None:
    cause = OSError(getattr(errno, number), os.strerror(getattr(errno, number)))
    assert classify(cause) == "node"
    assert classify(damaged(cause)) == "node"
    assert not disk_is_full(cause)


def test_a_gpu_that_is_not_well_is_the_node() -> None:
    for words in ("No CUDA GPUs are available", "CUDA error: uncorrectable ECC error encountered"):
        assert classify(RuntimeError(words)) == "node"


def test_the_rest_is_code() -> None:
    shapes = raised(lambda: torch.zeros(2, 3) @ torch.zeros(2, 3))
    assert classify(shapes) == "code"
    assert classify(ZeroDivisionError()) == "code"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_seen_through_what_it_led_to(number: int) -> None:
    cause = OSError(number, os.strerror(number))
    assert disk_is_full(cause)
    assert disk_is_full(damaged(cause))
    assert not disk_is_full(MemoryError())
