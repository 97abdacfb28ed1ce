"""Tell in words how a population was made, from the facts in its record."""

from collections.abc import Mapping
from typing import Any

from anynet_study.design_space.complexity import UNITS
from anynet_study.design_space.space import SPACES, DesignSpace

Record = Mapping[str, Any]


def origin(sampling: Record) -> dict[str, str]:
    """The facts by name, in the order of the steps; `sampling` is `Population.sampling`.

    Facts that a record lacks (for example, an imported one) are left out.
    """
    facts: dict[str, str] = {}
    if "space" in sampling:
        facts["space"] = _space_in_words(sampling["space"])
        facts["bands"] = _bands(sampling)
    if "file" in sampling:
        facts["read from"] = f"{sampling['file']} (sha256 {sampling['sha256'][:12]}...)"
    if foreign := [*sampling.get("networks", {}).values()]:
        facts["traced"] = ", ".join(network["name"] for network in foreign)
        missed = {one["name"]: ", ".join(one["uncounted"]) for one in foreign if one["uncounted"]}
        if missed:
            told = "; ".join(f"{name}: {operators}" for name, operators in missed.items())
            facts["operators not counted"] = told
    if "resolution" in sampling:
        facts["counted at"] = f"{sampling['resolution']} px, {sampling['classes']:,} classes"
    if "acceptance" in sampling:
        facts |= _search(sampling)
    if "seed" in sampling:
        facts["seed"] = str(sampling["seed"])
    if steps := sampling.get("derived"):
        facts["then"] = "; ".join(map(_step, steps))
    return facts


def _space_in_words(spec: Record) -> str:
    """The named space that is nearest, and what differs from it."""
    differences = {}
    for name in SPACES:
        named = DesignSpace.from_spec(name).to_spec()
        if named["base"] == spec["base"]:
            differences[name] = {k: v for k, v in spec.items() if named.get(k) != v and v != []}
    nearest = min(differences, key=lambda name: len(differences[name]))
    changed = [f"{key} {value}" for key, value in differences[nearest].items()]
    return nearest + (f" with {', '.join(changed)}" if changed else "")


def _bands(sampling: Record) -> str:
    limits = [
        f"{_millions(sampling[name][0])} to {_millions(sampling[name][1])} million {unit}"
        for name, unit in UNITS.items()
        if name in sampling
    ]
    return " and ".join(limits) or "none"


def _search(sampling: Record) -> dict[str, str]:
    low, high = sampling["acceptance_interval"]
    looked = f"{sampling['candidates']:,}"
    if sampling.get("in_space", sampling["candidates"]) != sampling["candidates"]:
        looked += f", {sampling['in_space']:,} in the space"
    facts = {
        "candidates": f"{looked}, {sampling['in_band']:,} in the bands",
        "acceptance": f"{sampling['acceptance']:.3%} (95% interval {low:.3%} to {high:.3%})",
        "duplicates": f"{sampling['duplicates']:,} removed",
    }
    if "strata" in sampling:
        edges = ", ".join(f"{edge:g}" for edge in sampling["strata"]["edges"])
        counts = ", ".join(f"{count:,}" for count in sampling.get("in_band_by_stratum", ()))
        facts["strata"] = f"of {sampling['strata']['of']}, edges {edges}; candidates: {counts}"
    return facts


def _step(step: Record) -> str:
    told = ", ".join(
        f"{name} {value}"
        for name, value in step.items()
        if name not in ("step", "left", "ids", "of")
    )
    return f"{step['step']} {told}".strip() + f": {step['left']:,} left"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.6f}".rstrip("0").rstrip(".")
