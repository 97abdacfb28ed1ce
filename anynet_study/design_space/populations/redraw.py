"""Drawing a population again from its record, on whatever machine."""

from typing import Any

from anynet_study.design_space.populations.population import Population
from anynet_study.design_space.space import DesignSpace
from anynet_study.errors import UserError

#: The arguments of `DesignSpace.sample` that a record has.
ASKED = (
    *("count", "flops", "resolution", "classes", "seed"),
    *("parameters", "activations", "strata"),
)


def redrawn(record: dict[str, Any]) -> Population:
    """Return the population whose `sampling` is the record.

    Raises UserError where it, or one that it was made of, was chosen, not drawn.
    """
    steps: list[dict[str, Any]] = record.get("derived", [])
    if steps and steps[0]["step"] == "concatenate":
        population = Population.concatenate([redrawn(one) for one in steps[0]["of"]])
        steps = steps[1:]
    elif "space" in record:
        population = _drawn(record)
    else:
        origin = f"read from {record['file']}" if "file" in record else "chosen one by one"
        raise UserError(f"population: it was {origin}, not drawn")
    for step in steps:
        arguments = {k: v for k, v in step.items() if k not in ("step", "left", "part")}
        result = getattr(population, step["step"])(**arguments)
        population = result[step["part"]] if "part" in step else result
    return population


def _drawn(record: dict[str, Any]) -> Population:
    asked = {name: record[name] for name in ASKED if name in record}
    return DesignSpace.from_spec(record["space"]).sample(**asked)
