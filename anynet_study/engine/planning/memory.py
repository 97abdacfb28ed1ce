"""Estimate the peak memory of runs, and how many of them a device carries at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.design_space import (
    FLOAT_BYTES,
    Counts,
    ForeignNetwork,
    Group,
    IntArray,
    Networks,
    layers,
    parameters,
    training_memory,
)
from anynet_study.engine.planning.features import Workload, layer_counts
from anynet_study.engine.planning.sizes import size_of_view
from anynet_study.engine.training import Recipe, largest_batch

MIB = 1 << 20
#: Weights, momentum and the gradients of the last step, which are kept while it is evaluated.
COPIES_OF_WEIGHTS = 3
#: Maps of a layer alive at once in evaluation: what enters, what leaves, and that normalised.
MAPS_IN_EVALUATION = 3
#: For each pixel of a batch: its place in the dataset (64 bits), cut out (3 bytes), as three floats
#: before and after they are normalised, and whether it is padding.
PIXEL_BYTES = 8 + 3 + 2 * 3 * FLOAT_BYTES + 1
#: More small networks at a time than this leave a GPU nothing to gain.
MOST = 8
#: Share of the free memory that stays free.
RESERVE = 0.1


@dataclass(frozen=True)
class DeviceMemory:
    """The memory that a kind of device takes beside the tensors of a run."""

    #: Of a process: interpreter, torch, and on a GPU its context.
    process_bytes: int
    #: Of each layer: compiled for its shape, forward and backward.
    layer_bytes: int
    #: Share of a run's tensors that scratch space and gaps between them take in addition.
    slack: float
    #: Of each run: the stream on which it is trained keeps room for matrix products.
    stream_bytes: int
    #: Whether it is a GPU. Then datasets are in its memory (on a CPU files are mapped, and shared),
    #: and what the CUDA graphs of a run take stays theirs while further images are evaluated.
    is_gpu: bool


#: Measured with `python -m benchmarks.cost --memory` (resident set, torch 2.13).
CPU_MEMORY = DeviceMemory(450 * MIB, MIB // 2, slack=0.25, stream_bytes=0, is_gpu=False)
#: Estimated: CUDA's context, torch's kernels, cuDNN's work space; of a stream those of cuBLAS and
#: cuBLASLt on a GPU of compute capability 9 (32 MiB each).
GPU_MEMORY = DeviceMemory(900 * MIB, 0, slack=0.25, stream_bytes=64 * MIB, is_gpu=True)


def device_memory(device: str) -> DeviceMemory:
    """Constants of a device by the name of its cost model or of its records (`cpu`, a GPU's)."""
    return CPU_MEMORY if device.casefold().startswith("cpu") else GPU_MEMORY


def run_bytes(groups: Sequence[Group], work: Workload, device: DeviceMemory) -> IntArray:
    """The most that a run of each network takes by itself, int64 of shape (n,).

    Rows are the groups' rows. It is the closed form of a training step (`design_space.memory`), or
    of evaluation where that takes more, with the batch's images and the device's slack. On a GPU
    the graphs of both share that much, and evaluation without a graph comes on top.
    """
    batch = -(-work.batch_size // work.parts)
    most_tested = largest_batch(work.resolution, "cuda" if device.is_gpu else "cpu")
    evaluated = min(most_tested, work.test_images)
    images = PIXEL_BYTES * work.resolution**2 * max(work.batch_size, evaluated)
    most = np.empty(sum(len(group.rows) for group in groups), dtype=np.int64)
    for rows, networks in groups:
        place = work.resolution, work.classes
        needed: Counts | int
        if isinstance(networks, ForeignNetwork):  # evaluation keeps less, whatever it does
            needed = networks.training_memory(max(batch, evaluated), *place)
        else:
            training = training_memory(networks, *place, batch)
            evaluation = _evaluation(networks, work, evaluated)
            needed = np.maximum(training, evaluation) + (evaluation if device.is_gpu else 0)
        tensors = needed + images
        compiled = device.layer_bytes * layer_counts(networks)
        most[rows] = np.ceil(tensors * (1 + device.slack) + compiled) + device.stream_bytes
    return most


def shared_bytes(pixels: int, device: DeviceMemory) -> int:
    """Return what runs in one process share: the process, and datasets of `pixels` in all."""
    return device.process_bytes + (3 * pixels if device.is_gpu else 0)


def _evaluation(networks: Networks, work: Workload, images: int) -> Counts:
    """Bytes of evaluating a batch: the weights, and the maps of the layer that has the largest."""
    largest = np.zeros(networks.widths.shape)
    for layer in layers(networks, work.resolution):
        largest = np.maximum(largest, layer.width_out * layer.area * (np.asarray(layer.count) > 0))
    weights = COPIES_OF_WEIGHTS * parameters(networks, work.classes)
    total: Counts = FLOAT_BYTES * (weights + MAPS_IN_EVALUATION * images * largest.max(axis=0))
    return total


def gpu_capacity(
    settings: Collection[tuple[Sequence[Group], DatasetView, Recipe]], free_bytes: int
) -> int:
    """Predict how many runs of any of `settings` fit at once, whichever they are; 1 to MOST.

    With the images of the largest view. `free_bytes`: of the GPU. What does not fit after all is
    noticed when it happens.
    """
    if not settings:
        return 1
    needed = [
        run_bytes(groups, size_of_view(view).workload(recipe), GPU_MEMORY)
        for groups, view, recipe in settings
    ]
    shared = shared_bytes(max(_pixels(view) for _, view, _ in settings), GPU_MEMORY)
    if shared > free_bytes / 2:  # then the dataset is streamed
        shared = shared_bytes(0, GPU_MEMORY)
    largest_first = np.sort(np.max(needed, axis=0))[::-1]
    room = free_bytes * (1 - RESERVE) - shared
    fitting = int((np.cumsum(largest_first) <= room).sum())
    return max(1, min(fitting, MOST))  # one that may not fit is tried


def _pixels(view: DatasetView) -> int:
    return view.size**2 * sum(map(len, (view.train_index, view.test_index, view.validation_index)))
