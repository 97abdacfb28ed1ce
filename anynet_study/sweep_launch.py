"""How a sweep is launched: nothing that changes a result."""

from typing import Any, Literal

from pydantic import Field, field_validator

from anynet_study.sweep_population import Strict
from anynet_study.sweep_slurm import checked_options
from anynet_study.training.options import Engine


class Launch(Strict):
    """Where and how the runs are trained; never part of a run's identity."""

    cluster: Literal["local", "slurm"] = "local"
    #: Worker processes of the local cluster; by default one a GPU, or one a core without.
    workers: int | None = Field(None, ge=1)
    #: Runs are packed into Slurm jobs of about this length.
    job_minutes: float = Field(120.0, gt=0)
    #: How often a run is tried that fails for want of memory, of time, or with its node.
    attempts: int = Field(3, ge=1)
    #: Time between two checkpoints of a run.
    checkpoint_seconds: float = Field(300.0, ge=0)
    #: fast, or the plain loop that defines what a run is: the same results up to rounding.
    engine: Engine = "fast"
    #: Runs that a GPU trains at the same time; by default as many as its memory holds, 8 at most.
    #: Torch has 32 streams, of which each run needs one for itself.
    at_once: int | None = Field(None, ge=1, le=32)
    #: Whether final weights stay in the study's folder, for evaluations added later. Those that
    #: other runs start from always do.
    keep: Literal["nothing", "weights"] = "nothing"
    #: submitit's own names, without the `slurm_` prefix: partition, account, qos, gres, constraint,
    #: timeout_min, mem_gb, setup, python (the command that starts Python, as in a container), ...
    #: Without array_parallelism all jobs may run at once; with it, so many of one launch.
    slurm: dict[str, Any] = Field(default_factory=dict)

    @field_validator("slurm")
    @classmethod
    def _known_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        return checked_options(options) if options else options
