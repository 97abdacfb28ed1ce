"""What is given up when memory is short or a device cannot do what it is asked to."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from training_runs import spec

from anynet_study.data import DatasetView
from anynet_study.engine.models import Backend
from anynet_study.engine.training import graphs, options
from anynet_study.engine.training.graphs import BrokenRecordingError
from anynet_study.engine.training.options import (
    SAID,
    Options,
    device_is_lost,
    fitting,
    is_out_of_memory,
    largest_batch,
    step_down,
)
from anynet_study.engine.training.recipe import Recipe

GPU = torch.device("cuda")
SHORT = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
CANNOT = RuntimeError("CUDA error: operation not permitted when stream is capturing")
NO_ENGINE = RuntimeError("GET was unable to find an engine to execute this computation")

LADDERS = {
    "a GPU's memory": (
        SHORT,
        "cuda",
        ["4 at a time", "2 at a time", "1 at a time", SAID["resident"], SAID["recompute"]],
    ),
    "a machine's memory": (MemoryError(), "cpu", [SAID["recompute"]]),
    "what a GPU cannot": (CANNOT, "cuda", [SAID["graph"], SAID["bfloat16"], SAID["backend"]]),
    "a GPU's memory, perhaps": (
        NO_ENGINE,
        "cuda",
        [
            *("4 at a time", "2 at a time", "1 at a time", SAID["resident"], SAID["recompute"]),
            *(SAID["graph"], SAID["bfloat16"], SAID["backend"]),
        ],
    ),
    "what a CPU cannot": (CANNOT, "cpu", []),
    "damaged data": (ValueError("damaged dataset"), "cuda", []),
}


@pytest.mark.parametrize(("error", "device", "said"), LADDERS.values(), ids=LADDERS)
def test_each_step_gives_up_the_next(error: Exception, device: str, said: list[str]) -> None:
    given, told = Options(at_once=8), []
    while (slower := step_down(given, error, Recipe(), device)) is not None:
        given = slower[0]
        told.append(slower[1])
    assert told == said


def test_a_kernel_in_triton_that_a_gpu_cannot_run_is_given_up_alone() -> None:
    errors = pytest.importorskip("triton.runtime.errors", reason="triton is not installed")
    tuned = Backend("rewritten", "sm_75", 1, "cuda", triton=True, table="Tesla T4")
    error = errors.OutOfResources(99, 48, "shared memory")
    slower = step_down(Options(tuned, at_once=8), error, Recipe(), "cuda")
    assert slower is not None
    by_torch = replace(tuned, triton=False)
    assert slower == (Options(by_torch, at_once=8), "torch's own batch norms")
    assert step_down(slower[0], error, Recipe(), "cuda") is None


def test_small_images_are_tested_many_at_a_time_on_a_gpu() -> None:
    """A batch costs the host as much as a step does."""
    assert [largest_batch(side, "cuda") for side in (32, 64, 224)] == [1024, 256, 256]
    assert largest_batch(32, "cpu") == 256


def test_what_is_recorded_of_a_backend_is_what_a_run_used(view: DatasetView) -> None:
    """The precision; in float32 no kernels in Triton, and with torch's own layers no table."""
    tuned = Backend("rewritten", "sm_90", 1, "cuda", triton=True, table="NVIDIA H200")
    half, whole = (spec(view, precision=it) for it in ("bfloat16", "float32"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(options, "has_bfloat16", lambda: True)
        recorded = fitting(Options(tuned), half, "cuda").backend.instructions
        assert recorded == "sm_90, bfloat16, Triton, table of NVIDIA H200"
        assert fitting(Options(tuned), whole, "cuda").backend.instructions == "sm_90"
    slower = step_down(Options(tuned, graph=False, bfloat16=False), CANNOT, Recipe(), "cuda")
    assert slower is not None
    assert slower[0].backend == Backend("plain", "sm_90", 1, "cuda")


def test_numbers_that_a_recipe_states_are_not_given_up() -> None:
    slower = step_down(Options(graph=False), CANNOT, Recipe(precision="bfloat16"), "cuda")
    assert slower is not None
    assert (slower[0].bfloat16, slower[1]) == (True, SAID["backend"])


def broken_off() -> Exception:
    """As when a recording meets the end of the memory, and then cannot be ended."""
    try:
        try:
            raise SHORT
        finally:
            raise RuntimeError("CUDA error: operation failed due to a previous error")
    except RuntimeError as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        SHORT,
        MemoryError(),
        broken_off(),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
    ],
)
def test_memory_is_short_in_many_words(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_what_torch_itself_says_of_memory_is_understood() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)
    assert not is_out_of_memory(CANNOT)
    assert not is_out_of_memory(ValueError("memory-mapped"))


@pytest.mark.parametrize(("tells", "lost"), [(0, False), (1, False), (2, True), (99, True)])
def test_a_device_is_lost_that_tells_its_error_again_and_again(
    tells: int, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tells

    def synchronize(device: torch.device) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    assert device_is_lost(GPU, CANNOT) == lost
    assert not device_is_lost(torch.device("cpu"), CANNOT)


@pytest.mark.parametrize(
    ("recovers", "kind"), [(True, RuntimeError), (False, BrokenRecordingError)]
)
def test_a_recording_that_broke_off_ends_the_process_where_torch_does_not_recover(
    recovers: bool, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CUDAGraph", "current_stream", "synchronize"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    monkeypatch.setattr(torch.cuda, "graph", lambda *_, **__: nullcontext())
    monkeypatch.setattr(graphs, "recovers", lambda: recovers)

    def body() -> None:
        raise SHORT

    with pytest.raises(kind) as caught:
        graphs.cuda_graph(body)
    assert is_out_of_memory(caught.value)
    assert device_is_lost(GPU, caught.value) != recovers


def test_which_torch_recovers_from_a_broken_recording() -> None:
    told = {version: graphs.recovers(version) for version in ("2.9.1", "2.11.0+cu130", "2.12.0a0")}
    assert list(told.values()) == [False, False, True]
