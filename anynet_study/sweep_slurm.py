"""Slurm's options in a sweep: submitit's own names, and what their values may be."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from anynet_study.sweep_text import legal_keys

#: Those that submitit has beside those of an sbatch script, and those with a narrower range or
#: another type than it says.
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


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
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
