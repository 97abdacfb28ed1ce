"""Predicting the seconds of a run: for packing into jobs, for the time left and the dry run."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anynet_study.core.errors import UserError, counted
from anynet_study.core.files import read_regular
from anynet_study.engine.planning.devices import gpu_here
from anynet_study.engine.planning.features import Features, FloatArray

#: Slurm options that ask for a GPU, by submitit's names.
GPU_OPTIONS = ("gpus_per_node", "gpus_per_task", "gres")


@dataclass(frozen=True)
class CostModel:
    """What a worker of a kind takes for a run: a price in seconds for each feature of it."""

    #: The worker's device, for messages.
    name: str
    #: Seconds for one of each; none is negative.
    prices: Features
    #: Whether the prices were not measured on such a device, but made of what is known of it.
    is_estimate: bool = False
    #: Factor by which finished runs of the study took longer than by the prices.
    factor: float = 1.0
    #: How many finished runs the factor is of.
    runs: int = 0
    #: Median relative error of the predictions of these runs; NaN: not known.
    error: float = math.nan

    def seconds(self, features: FloatArray) -> FloatArray:
        """Predict the length, shape (n,), of runs or evaluations of features (n, len(Features))."""
        predicted: FloatArray = features @ np.asarray(self.prices, dtype=np.float64)
        return self.factor * predicted

    def to_json(self) -> str:
        """The device and how fast it was, for `of_json`."""
        device = "cpu" if self.name == CPU_CORE.name else self.name
        measured = {"factor": self.factor, "runs": self.runs, "error": self.error}
        return json.dumps({"device": device, **measured})

    @classmethod
    def of_json(cls, path: Path) -> "CostModel":
        """What `to_json` wrote, with the prices of today. UserError for what it did not write."""
        try:
            told = json.loads(read_regular(path))
            return replace(built_in_cost(told.pop("device")), **told)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UserError(f"{path}: none that launch writes; remove it") from None

    @property
    def basis(self) -> str:
        """In words, what predictions are made by."""
        kind = "estimate for" if self.is_estimate else "prices of"
        if not self.runs:
            return f"built-in {kind} one {self.name} that is idle; finished runs will correct it"
        error = "" if math.isnan(self.error) else f", median error {100 * self.error:.0f}%"
        runs = counted(self.runs, "finished run")
        return (
            f"built-in {kind} one {self.name}, times {self.factor:.2g} (measured on {runs}{error})"
        )


#: Seconds for one of each feature, by device. Those of a CPU core are fitted with
#: `python -m benchmarks.cost`: one of 2 cores with AVX2, torch 2.13. Those of the V100, the study's
#: card, make RegNetX-400MF train at about 1,060 images a second, as it did there; those of the H100
#: are what the project's goals expect of its engine, a run at a time.
PRICES = {
    # CPU core, V100 GPU, H100 GPU
    "pointwise": (2.4e-11, 5e-13, 4e-14),
    "spatial": (2.5e-12, 5e-13, 6e-14),
    "spatial_outputs": (4.2e-10, 5e-12, 2e-12),
    "stem": (2.2e-11, 5e-13, 6e-14),
    "tiny": (2.4e-11, 5e-13, 4e-14),
    "outputs": (1.6e-9, 3.3e-11, 7e-12),
    "layers": (5.7e-5, 1.5e-5, 1.2e-5),
    "parameters": (2.7e-9, 1e-11, 3e-12),
    "pixels": (9.5e-9, 1e-12, 1e-12),
    "batches": (3.3e-4, 1e-3, 1e-4),
    "runs": (0.062, 5.0, 3.0),
    "starts": (0.35, 20.0, 15.0),
    "transforms": (7.8e-8, 4e-9, 2e-9),
    "tests": (5.6e-3, 0.05, 0.05),
}
_CPU, _V100, _H100 = (
    Features(**{name: three[device] for name, three in PRICES.items()}) for device in range(3)
)
CPU_CORE = CostModel("CPU core", _CPU)
V100 = CostModel("V100 GPU", _V100, is_estimate=True)
H100 = CostModel("H100 GPU", _H100, is_estimate=True)


def expected_cost(cluster: str, slurm: Mapping[str, Any], gpu: str = "") -> CostModel:
    """The cost on the device on which a sweep will be trained: here, or what Slurm is asked for.

    Slurm gives a GPU where one of the options asks for one. Its kind is told by their words, such
    as `gres: gpu:h100:1`, or else by `gpu`, the kind that the partition has.
    """
    if cluster != "slurm":
        return built_in_cost(gpu_here() or "cpu")
    return _gpu(" ".join([gpu, *map(str, slurm.values())])) if asks_for_gpu(slurm) else CPU_CORE


def asks_for_gpu(slurm: Mapping[str, Any]) -> bool:
    """Whether a job with these options of Slurm gets a GPU."""
    return any(slurm.get(key) for key in GPU_OPTIONS)


def built_in_cost(device: str) -> CostModel:
    """The built-in prices for a device by its name in run records (`cpu`, or a GPU's name)."""
    return CPU_CORE if device == "cpu" else replace(_gpu(device), name=device)


def _gpu(words: str) -> CostModel:
    return H100 if re.search("h100|h200|h800|gh200|b200", words, re.IGNORECASE) else V100
