"""How a population came about, in words."""

from typing import Any

from anynet_study.design_space import DesignSpace
from anynet_study.design_space.complexity import UNITS
from anynet_study.design_space.space import SPACES


def origin_of(sampling: dict[str, Any]) -> dict[str, str]:
    """The facts of a population's record, by name, in the order of what was done."""
    facts: dict[str, str] = {}
    if "space" in sampling:
        facts["space"] = space_in_words(sampling["space"])
        facts["bands"] = _bands(sampling)
        facts["seed"] = str(sampling["seed"])
        facts |= _search(sampling)
    elif "file" in sampling:
        facts["read from"] = f"{sampling['file']} (sha256 {sampling['sha256'][:12]}...)"
    for step in sampling.get("derived", []):
        facts["then"] = "; ".join(filter(None, (facts.get("then"), _step(step))))
    return facts


def space_in_words(spec: dict[str, Any]) -> str:
    """The named space that is nearest, and what differs from it."""
    differences = {}
    for name in SPACES:
        named = DesignSpace.from_spec(name).to_spec()
        if named["base"] == spec["base"]:
            differences[name] = {k: v for k, v in spec.items() if named.get(k) != v and v != []}
    nearest = min(differences, key=lambda name: len(differences[name]))
    changed = [f"{key} {value}" for key, value in differences[nearest].items()]
    return nearest + (f" with {', '.join(changed)}" if changed else "")


def _bands(sampling: dict[str, Any]) -> str:
    limits = [
        f"{_millions(sampling[name][0])} to {_millions(sampling[name][1])} million {unit}"
        for name, unit in UNITS.items()
        if name in sampling
    ]
    place = f"at {sampling['resolution']} px and {sampling['classes']:,} classes"
    return f"{' and '.join(limits)} {place}" if limits else "none"


def _search(sampling: dict[str, Any]) -> dict[str, str]:
    low, high = sampling["acceptance_interval"]
    looked = f"{sampling['candidates']:,}"
    if sampling["in_space"] != sampling["candidates"]:
        looked += f", {sampling['in_space']:,} in the space"
    facts = {
        "candidates": f"{looked}, {sampling['in_band']:,} in the bands",
        "acceptance": f"{sampling['acceptance']:.3%} (95% interval {low:.3%} to {high:.3%})",
        "duplicates": f"{sampling['duplicates']:,} removed",
    }
    if "strata" in sampling:
        edges = ", ".join(f"{edge:g}" for edge in sampling["strata"]["edges"])
        counts = ", ".join(f"{count:,}" for count in sampling["in_band_by_stratum"])
        facts["strata"] = f"of {sampling['strata']['of']}, edges {edges}; candidates: {counts}"
    return facts


def _step(step: dict[str, Any]) -> str:
    told = [
        f"{name} {value}"
        for name, value in step.items()
        if name not in ("step", "left", "ids", "of")
    ]
    return f"{' '.join([step['step'], ', '.join(told)]).strip()}: {step['left']:,} left"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.6f}".rstrip("0").rstrip(".")
