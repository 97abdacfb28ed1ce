"""Predicting the cost of a run: for packing into jobs and for the dry run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeviceRate:
    """How fast one worker of a kind trains."""

    name: str
    #: Multiply-adds a second, forward and backward, that an unhurried network reaches.
    multiply_adds_per_second: float
    #: Seconds that a step costs for each block, however small its feature maps.
    seconds_per_block_step: float


#: Fitted with `python -m benchmarks.cost` to the quickstart: a 2-core AVX2 machine, torch 2.13.
CPU_CORE = DeviceRate("CPU core", 1.2e10, 1.2e-3)
#: The study's card: RegNetX-400MF at about 1,060 images a second with the code it was trained by,
#: three multiply-adds (forward, and backward to weights and to inputs) for each one counted.
V100 = DeviceRate("V100 GPU", 3 * 400e6 * 1060, 2e-4)


def expected_rate(cluster: str, slurm: Mapping[str, Any]) -> DeviceRate:
    """The device on which a sweep will be trained: a GPU where its Slurm options ask for one."""
    asks_for_gpu = any(slurm.get(key) for key in ("gpus_per_node", "gpus_per_task", "gres"))
    return V100 if cluster == "slurm" and asks_for_gpu else CPU_CORE


@dataclass(frozen=True)
class Workload:
    """What the cost of a run depends on, beside the network."""

    train_images: int
    test_images: int
    epochs: int
    batch_size: int


def predict_seconds(flops: float, blocks: int, work: Workload, rate: DeviceRate) -> float:
    """Seconds of training and of the evaluation after each epoch.

    `flops`: multiply-adds of one forward pass of one image; `blocks`: number of residual blocks.
    A step takes the longer of its arithmetic and its fixed cost a block, about; the sum is used,
    which is at most twice too long and orders runs well.
    """
    train_steps = max(1, work.train_images // work.batch_size)
    test_steps = -(-work.test_images // 256)
    arithmetic = flops * (3 * work.train_images + work.test_images)
    fixed = blocks * (train_steps + 0.3 * test_steps) * rate.seconds_per_block_step
    return work.epochs * (arithmetic / rate.multiply_adds_per_second + fixed)
