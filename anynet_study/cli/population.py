"""A population as a summary for people, or as JSON: its origin and its properties."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from anynet_study.cli.tables import print_table
from anynet_study.design_space import (
    MEASURES,
    FloatArray,
    IntArray,
    Population,
    columns_of,
    origin,
    stages_of,
    values_of,
)

LABELS = ("lowest", "25%", "median", "75%", "highest")
#: For networks without stages.
NO_KIND = "their own"
PARAMETERS = {
    "depth": "depths",
    "width": "widths",
    "bottleneck ratio": "bottleneck_ratios",
    "group width": "group_widths",
}


def print_population(population: Population, path: Path, as_json: bool) -> None:
    """Print the origin of the population, and the spread of its parameters and costs."""
    spread, stages, kinds = _spread(population), _stages(population), _kinds(population)
    if as_json:
        found = {"spread": spread, "stages": stages, "kinds": kinds}
        told = {"path": str(path), "architectures": len(population), **found}
        print(json.dumps({**told, "sampling": population.sampling}, indent=2))
        return
    print(f"{len(population):,} architectures in {path}")
    print_table((), list(_origin(population, kinds).items()), left=2)
    print(f"\ncosts at {population.resolution} px and {population.classes:,} classes")
    _print_spread(spread)
    if not stages["depth"]:  # of none of the networks
        return
    grouped = "bottleneck" in kinds["block"]
    frequent = ", most frequent ratio and group width" if grouped else ""
    print(f"\nstages: median depth and width{frequent}")
    _print_stages(stages, list(PARAMETERS) if grouped else ["depth", "width"])


def _spread(population: Population) -> dict[str, dict[str, float]]:
    """Quartiles of costs and of sums over stages."""
    totals = {name: values_of(population.table[name]).astype(np.float64) for name in MEASURES}
    for name in ("depth", "width"):
        columns = _columns(population, PARAMETERS[name])
        if len(columns):
            staged = columns[:, ~np.isnan(columns[0])]
            totals[f"cumulative {name}"] = np.nansum(staged, axis=0)
    return quartiles(totals)


def quartiles(values: Mapping[str, FloatArray | IntArray]) -> dict[str, dict[str, float]]:
    """By the names of `values`, their quartiles by `LABELS`."""
    return {
        name: dict(zip(LABELS, np.percentile(v, [0, 25, 50, 75, 100]).tolist(), strict=True))
        for name, v in values.items()
    }


def _stages(population: Population) -> dict[str, list[dict[str, float]]]:
    """For each parameter and stage: range, median, most frequent value and its share."""
    found: dict[str, list[dict[str, float]]] = {}
    for name, field in PARAMETERS.items():
        found[name] = []
        for values in _columns(population, field):
            there = values[~np.isnan(values)]
            # Sorted: of equally frequent values the smallest.
            common, count = Counter(sorted(there.tolist())).most_common(1)[0]
            found[name].append(
                {
                    "lowest": there.min(),
                    "median": float(np.median(there)),
                    "highest": there.max(),
                    "most_frequent": common,
                    "share": count / len(there),
                    "architectures": len(there),
                }
            )
    return found


def _kinds(population: Population) -> dict[str, dict[str, int]]:
    """Return how many architectures there are of each block type, stem and number of stages."""
    there = ~np.isnan(_columns(population, "depths"))
    depths = there.sum(axis=0).tolist() if len(there) else [0] * len(population)
    counts = {
        "block": Counter(value or NO_KIND for value in population.table["block"].to_pylist()),
        "stem": Counter(value or NO_KIND for value in population.table["stem"].to_pylist()),
        "stages": Counter(map(str, depths)),
    }
    return {name: dict(sorted(counter.items())) for name, counter in counts.items()}


def _columns(population: Population, field: str) -> FloatArray:
    """Return one field of all architectures, shape (S, n), NaN where there is no such stage."""
    names = columns_of(field, stages_of(population.table))
    columns = [values_of(population.table[name], missing=np.nan) for name in names]
    return np.array(columns, dtype=np.float64)


def _origin(population: Population, kinds: dict[str, dict[str, int]]) -> dict[str, str]:
    facts = origin(population.sampling)
    for name, counts in kinds.items():
        if len(counts) > 1:
            facts[name] = ", ".join(f"{value}: {count:,}" for value, count in counts.items())
    if "weight" in population.table.column_names:
        weights = values_of(population.table["weight"])
        facts["weights"] = f"{weights.min():.3g} to {weights.max():.3g}"
    return facts


def _print_spread(spread: dict[str, dict[str, float]]) -> None:
    rows = []
    for name, values in spread.items():
        unit = 1e6 if name in MEASURES else 1
        label = f"{name.replace('flops', 'FLOPs')} (M)" if unit > 1 else name
        rows.append([label, *(f"{value / unit:,.4g}" for value in values.values())])
    print_table(("", *LABELS), rows)


def _print_stages(stages: dict[str, list[dict[str, float]]], names: list[str]) -> None:
    rows = []
    for name in names:
        key = "median" if name in ("depth", "width") else "most_frequent"
        rows.append([name, *(f"{stage[key]:g}" for stage in stages[name])])
    counts = [int(stage["architectures"]) for stage in stages["depth"]]
    if len(set(counts)) > 1:
        rows.append(["architectures", *(f"{count:,}" for count in counts)])
    print_table(("stage", *map(str, range(1, len(counts) + 1))), rows)
