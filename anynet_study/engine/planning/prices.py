"""Predicting the seconds of a run: for packing into jobs, for the time left and the dry run."""

import json
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
    """The time that a kind of worker takes for a run: a price in seconds for each feature."""

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
    #: Median relative error of the predictions of these runs; None: not known.
    error: float | None = None

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
        """Return what `to_json` wrote, with the prices of today. UserError for what it did not
        write.
        """
        try:
            # Earlier versions wrote NaN where the error is not known.
            told = json.loads(read_regular(path), parse_constant=lambda _: None)
            return replace(built_in_cost(told.pop("device")), **told)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UserError(f"{path}: none that launch writes; remove it") from None

    @property
    def basis(self) -> str:
        """In words, what predictions are made by."""
        kind = "estimate for" if self.is_estimate else "prices of"
        if not self.runs:
            return f"built-in {kind} one {self.name} that is idle; finished runs will correct it"
        error = "" if self.error is None else f", median error {100 * self.error:.0f}%"
        runs = counted(self.runs, "finished run")
        return (
            f"built-in {kind} one {self.name}, times {self.factor:.2g} (measured on {runs}{error})"
        )


#: Seconds for one of each feature. Of a CPU core: one of 2 cores with AVX2, torch 2.13
#: (`python -m benchmarks.cost`). Of the V100, the study's card: RegNetX-400MF trains at about 1,060
#: images a second, as it did there. Of the H100: a step of one network was measured, 2.3 ms at 32
#: pixels and 15.7 at 224 (benchmarks/results/gpu-h100.md).
_CPU = Features(flops=2.2e-11, activations=1.6e-9, layers=7.1e-5, transforms=7.8e-8, runs=0.062)
_V100 = Features(flops=5.1e-13, activations=3.1e-11, layers=3.1e-5, transforms=4e-9, runs=5.0)
_H100 = Features(flops=3.8e-14, activations=5.7e-12, layers=1.1e-5, transforms=2e-9, runs=3.0)
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
    """Tell whether a job with these options of Slurm gets a GPU."""
    return any(slurm.get(key) for key in GPU_OPTIONS)


def built_in_cost(device: str) -> CostModel:
    """The built-in prices for a device by its name in run records (`cpu`, or a GPU's name)."""
    return CPU_CORE if device == "cpu" else replace(_gpu(device), name=device)


def _gpu(words: str) -> CostModel:
    return H100 if re.search("h100|h200|h800|gh200|b200", words, re.IGNORECASE) else V100
