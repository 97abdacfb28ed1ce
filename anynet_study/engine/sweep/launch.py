"""The settings of a launch, and Slurm's options. Nothing here changes a result."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from anynet_study.engine.models import BackendKind
from anynet_study.engine.sweep.text import Strict, legal_keys
from anynet_study.engine.training import Engine

AboveZero = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
#: Options of jobs by submitit's names, without the `slurm_` prefix, and their types. submitit says
#: which it takes only where there is a Slurm, and a sweep is checked anywhere. What it does not
#: take is passed on by additional_parameters.
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("name", "job_name", "python", "wckey", "comment", "dependency"), str),
    **dict.fromkeys(("partition", "account", "qos", "constraint", "exclude", "nodelist"), str),
    **dict.fromkeys(("mail_type", "mail_user", "mem", "mem_per_cpu", "mem_per_gpu", "gres"), str),
    **dict.fromkeys(("timeout_min", "time", "cpus_per_task", "signal_delay_s"), AboveZero),
    **dict.fromkeys(("nodes", "tasks_per_node", "ntasks_per_node"), int),
    **dict.fromkeys(("gpus_per_node", "gpus_per_task", "cpus_per_gpu"), NotNegative),
    **dict.fromkeys(("setup", "teardown", "srun_args"), list[str]),
    **dict.fromkeys(("use_srun", "stderr_to_stdout"), bool),
    "array_parallelism": AboveZero,
    "max_num_timeout": NotNegative,
    "mem_gb": Annotated[float, Field(gt=0)],
    "exclusive": bool | str,
    "additional_parameters": dict[str, Any],
}
#: A job is one worker, one process.
ONE = ("nodes", "tasks_per_node", "ntasks_per_node")


class Launch(Strict):
    """Settings of where and how the runs are trained; never part of a run's identity."""

    #: debug: all runs in the process that launches them, for a debugger to follow. none: workers
    #: are started by anything else, such as another scheduler, by `anynet-study work STUDY`.
    cluster: Literal["local", "slurm", "debug", "none"] = "local"
    #: Worker processes of the local cluster; by default one per GPU, or one per core without a GPU.
    workers: int | None = Field(None, ge=1)
    #: Runs are packed into Slurm jobs of about this length.
    job_minutes: float = Field(120.0, gt=0, le=525_600)
    #: How many times a run is tried if memory or time runs out, or if its node fails.
    attempts: int = Field(3, ge=1)
    #: Time between two checkpoints of a run.
    checkpoint_seconds: float = Field(300.0, ge=0)
    #: `fast`, or `reference`: the plain loop that defines what a run is. Both give the same results
    #: up to rounding.
    engine: Engine = "fast"
    #: How the fast engine computes networks: with torch's own layers (`plain`), or with exact
    #: rewrites of them, which are faster (`rewritten`, the default). A third one of earlier
    #: versions, `compiled`, is read as `rewritten`: reports note a study that has runs of both.
    backend: BackendKind | None = None
    #: How many runs a GPU trains at the same time. By default as many as fit its memory, but at
    #: most 8. The limit is 32: each run needs a stream of its own, and torch has 32.
    at_once: int | None = Field(None, ge=1, le=32)
    #: Whether final weights are kept in the study's folder, so that evaluations can be added later.
    #: Weights that other runs start from are always kept.
    keep: Literal["nothing", "weights"] = "nothing"
    #: Whether the study's folder keeps the outputs of the final networks for their own test images:
    #: scores/RUN.npy, (images, classes) float32. Intervals of AUROCs need them.
    scores: bool = False
    #: submitit's own names, without the `slurm_` prefix: partition, account, qos, gres, constraint,
    #: timeout_min, mem_gb, setup, python (the command that starts Python, as in a container), ...
    #: All jobs may run at once, unless array_parallelism limits how many jobs of one launch do.
    slurm: dict[str, Any] = Field(default_factory=dict)

    @field_validator("backend", mode="before")
    @classmethod
    def _that_there_is(cls, backend: Any) -> Any:
        return "rewritten" if backend == "compiled" else backend

    @field_validator("slurm")
    @classmethod
    def _known_options(cls, options: dict[str, Any]) -> dict[str, Any]:
        return _checked_options(options) if options else options


def _checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the values that submitit wants; options that are None are left out.

    Raises ValueError for a value of a wrong type, and for an unknown name, with the legal ones.
    """
    checked = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise ValueError(f"unknown option `{name}`{legal_keys(name, sorted(OPTIONS))}")
        if value is not None:
            checked[name] = _checked(name, value)
    for name in ONE:
        if checked.get(name, 1) != 1:
            raise ValueError(f"{name} = {checked[name]}: a job is one process; legal: 1")
    return checked


def _checked(name: str, value: Any) -> Any:
    kind = OPTIONS[name]
    if kind == list[str] and isinstance(value, str):
        value = [value]
    try:
        config = ConfigDict(coerce_numbers_to_str=True)
        return TypeAdapter(kind, config=config).validate_python(value)
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        message = message[0].lower() + message[1:]
        raise ValueError(f"{name} = {value!r}: {message}") from None
