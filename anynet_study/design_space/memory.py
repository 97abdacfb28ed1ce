"""Closed-form memory of training, of a whole population at once.

One step of the plain loop (`training.engine`) in float32 on a batch of images: forward, cross
entropy, backward, SGD with momentum. Counted are the bytes of the tensors that are alive:

- parameters, their momentum, the buffers of batch norm, and the logits, always;
- gradients: during the forward pass those of the step before, during the backward pass those of
  the layers that it has been through;
- what autograd saves (`saved`) until the backward pass has used it;
- what the operation of the moment works on (`peak`).

Training memory is the most that is alive at once. Compared with a record of every tensor that
torch makes and frees, it was -0.02% to +0.7% off in 174 cases of all kinds. What the libraries
below torch take is not counted: scratch space of convolutions (with it, torch.profiler saw 0 to
21% more on a CPU, with batches of 4 to 16), sizes that an allocator rounds up and gaps that it
leaves, the framework itself and its CUDA context.

Arrays of results have the type of the networks' arrays.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from anynet_study.design_space.complexity import parameters_by_part
from anynet_study.design_space.networks import Counts, Networks
from anynet_study.design_space.peak import Step, peaks
from anynet_study.design_space.saved import FLOAT_BYTES, buffers_by_part, saved_by_part

#: Limit under which no network's memory leaves 64 bits.
MAX_BATCH = 8192
#: Networks at a time whose arrays stay in a core's cache: five times faster than a million at once.
CHUNK = 1 << 14


def training_memory(networks: Networks, resolution: int, classes: int, batch: int) -> Counts:
    """Bytes that a training step on `batch` images takes at its peak, shape (n,)."""
    return np.concatenate(
        [
            _rows(training_memory_by_part(part, resolution, classes, batch)).sum(axis=0)
            for part in _chunks(networks)
        ]
    )


def training_memory_by_part(
    networks: Networks, resolution: int, classes: int, batch: int
) -> tuple[Counts, Counts, Counts]:
    """The same of the stem (n,), the stages (S, n) and the head (n,).

    Each has its parameters, gradients, momentum, buffers and what autograd saves of it. The part
    that is at work at the peak has, in addition, what that moment takes beyond all of this.
    """
    weights = _rows(parameters_by_part(networks, classes)) * FLOAT_BYTES
    buffers = _rows(buffers_by_part(networks))
    saved = _rows(saved_by_part(networks, resolution, classes, batch))
    longer = replace(networks, depths=networks.depths + 1)
    step = Step(
        weights,
        saved,
        block_weights=_rows(parameters_by_part(longer, classes))[1:-1] * FLOAT_BYTES
        - weights[1:-1],
        block_saved=_rows(saved_by_part(longer, resolution, classes, batch))[1:-1] - saved[1:-1],
    )
    held = 3 * weights + buffers + saved
    always = (2 * weights + buffers).sum(axis=0) + FLOAT_BYTES * batch * classes
    alive = peaks(networks, resolution, classes, batch, step) + always
    place = alive.argmax(axis=0)
    everyone = np.arange(len(networks))
    held[place, everyone] += alive[place, everyone] - held.sum(axis=0)
    return held[0], held[1:-1], held[-1]


def _chunks(networks: Networks) -> Iterator[Networks]:
    for first in range(0, max(1, len(networks)), CHUNK):
        some = slice(first, first + CHUNK)
        yield replace(
            networks,
            depths=networks.depths[:, some],
            widths=networks.widths[:, some],
            bottleneck_widths=networks.bottleneck_widths[:, some],
            group_widths=networks.group_widths[:, some],
        )


def _rows(parts: tuple[Counts, ...]) -> Counts:
    """Stem, stages and head as one array, shape (S + 2, n)."""
    stem, stages, head = parts
    return np.vstack([np.broadcast_to(stem, head.shape), stages, head])
