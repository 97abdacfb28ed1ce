"""Predicting the seconds of a run: for packing into jobs, for the time left and the dry run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anynet_study.dispatch.cost_features import Features, FloatArray


@dataclass(frozen=True)
class CostModel:
    """What a worker of a kind takes for a run: a price in seconds for each feature of it."""

    #: The worker's device, for messages.
    name: str
    #: Seconds for one of each; none is negative.
    prices: Features
    #: Where the prices are from: `built-in`, `estimate` (of a device not measured), `fitted`.
    basis: str = "built-in"
    #: Measured runs that the prices were fitted to.
    runs: int = 0

    def seconds(self, features: FloatArray) -> FloatArray:
        """Predict the length of runs, shape (n,), of their features (n, len(Features))."""
        predicted: FloatArray = features @ np.asarray(self.prices, dtype=np.float64)
        return predicted


#: Fitted with `python -m benchmarks.cost`: one of 2 cores with AVX2, torch 2.13.
CPU_CORE = CostModel(
    "CPU core",
    Features(
        pointwise=2.1e-11,
        spatial=5e-12,
        spatial_outputs=1e-9,
        stem=1.5e-11,
        tiny=2.3e-11,
        outputs=1.8e-9,
        layers=8e-5,
        parameters=1.2e-8,
        pixels=1.5e-8,
        batches=1e-3,
        runs=0.2,
    ),
)
#: The study's card: RegNetX-400MF at about 1,060 images a second with the code it was trained by.
V100 = CostModel(
    "V100 GPU",
    Features(
        pointwise=5e-13,
        spatial=5e-13,
        spatial_outputs=0.0,
        stem=5e-13,
        tiny=5e-13,
        outputs=3.3e-11,
        layers=1.5e-5,
        parameters=1e-11,
        pixels=0.0,
        batches=1e-3,
        runs=5.0,
    ),
    basis="estimate",
)


def expected_cost(cluster: str, slurm: Mapping[str, Any]) -> CostModel:
    """The device on which a sweep will be trained: a GPU where its Slurm options ask for one."""
    asks_for_gpu = any(slurm.get(key) for key in ("gpus_per_node", "gpus_per_task", "gres"))
    return V100 if cluster == "slurm" and asks_for_gpu else CPU_CORE
