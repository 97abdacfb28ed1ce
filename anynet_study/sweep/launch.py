"""How a sweep is launched, and Slurm's options: nothing that changes a result."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from anynet_study.models import BackendKind
from anynet_study.sweep.text import Strict, legal_keys
from anynet_study.training import Engine

#: Slurm's options that submitit has beside those of an sbatch script, and those with a narrower
#: range or another type than it says.
TYPES: dict[str, Any] = {
    "name": str,
    "timeout_min": Annotated[int, Field(gt=0)],
    "time": Annotated[int, Field(gt=0)],
    "mem_gb": Annotated[float, Field(gt=0)],
    "tasks_per_node": int,
    "gpus_per_node": Annotated[int, Field(ge=0)],
    "cpus_per_task": Annotated[int, Field(gt=0)],
    "signal_delay_s": Annotated[int, Field(gt=0)],
    "array_parallelism": Annotated[int, Field(gt=0)],
    "max_num_timeout": Annotated[int, Field(ge=0)],
    "python": str,
    "wckey": str,
    "setup": list[str],
    "teardown": list[str],
    "srun_args": list[str],
}
#: What is not for the sweep to say, or submitit warns of.
NOT_OURS = frozenset({"command", "folder", "map_count", "num_gpus", "return"})
#: A job is one worker, one process.
ONE = ("nodes", "tasks_per_node", "ntasks_per_node")


class Launch(Strict):
    """Where and how the runs are trained; never part of a run's identity."""

    #: debug: all runs in the process that launches them, for a debugger to follow.
    cluster: Literal["local", "slurm", "debug"] = "local"
    #: Worker processes of the local cluster; by default one per GPU, or one per core without a GPU.
    workers: int | None = Field(None, ge=1)
    #: Runs are packed into Slurm jobs of about this length.
    job_minutes: float = Field(120.0, gt=0, le=525_600)
    #: How often a run is tried that fails for want of memory, of time, or with its node.
    attempts: int = Field(3, ge=1)
    #: Time between two checkpoints of a run.
    checkpoint_seconds: float = Field(300.0, ge=0)
    #: fast, or the plain loop that defines what a run is: the same results up to rounding.
    engine: Engine = "fast"
    #: How the fast engine computes networks: by torch's own layers (plain), or by exact rewrites of
    #: them (rewritten, the default), which are faster.
    backend: BackendKind | None = None
    #: Runs that a GPU trains at the same time; by default as many as its memory holds, 8 at most.
    #: Torch has 32 streams, of which each run needs one for itself.
    at_once: int | None = Field(None, ge=1, le=32)
    #: Whether final weights stay in the study's folder, for evaluations added later. Those that
    #: other runs start from always do.
    keep: Literal["nothing", "weights"] = "nothing"
    #: Whether the outputs of the final networks on their own test images stay in the study's
    #: folder: scores/RUN.npy, (images, classes) float32. Intervals of AUROCs need them.
    scores: bool = False
    #: submitit's own names, without the `slurm_` prefix: partition, account, qos, gres, constraint,
    #: timeout_min, mem_gb, setup, python (the command that starts Python, as in a container), ...
    #: Without array_parallelism all jobs may run at once; with it, so many of one launch.
    slurm: dict[str, Any] = Field(default_factory=dict)

    @field_validator("slurm")
    @classmethod
    def _known_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        return _checked_options(options) if options else options


def _checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with their values as submitit wants them; those that are None are not set.

    Raises ValueError for a name that submitit does not have, saying which it has, and for a value
    of another kind.
    """
    checked = {}
    for name, value in options.items():
        if name not in _legal():
            raise ValueError(f"unknown option `{name}`; {legal_keys(name, sorted(_legal()))}")
        if value is not None:
            checked[name] = _checked(name, value)
    for name in ONE:
        if checked.get(name, 1) != 1:
            raise ValueError(f"{name} = {checked[name]}: a job is one process; legal: 1")
    return checked


def _checked(name: str, value: Any) -> Any:
    kind = _legal()[name]
    if kind == list[str] and isinstance(value, str):
        value = [value]
    try:
        config = ConfigDict(coerce_numbers_to_str=True)
        return TypeAdapter(kind, config=config).validate_python(value)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        message = message[0].lower() + message[1:]
        raise ValueError(f"{name} = {value!r}: {message}") from None


@cache
def _legal() -> dict[str, Any]:
    """Names and types, from submitit itself: a newer one may know more."""
    from submitit.slurm.slurm import _make_sbatch_string

    hints = {**get_type_hints(_make_sbatch_string), **TYPES}
    return {name: kind for name, kind in hints.items() if name not in NOT_OURS}
