"""What networks cost, printed for people or as JSON."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from anynet_study.cli.complexity_sources import Network
from anynet_study.cli.tables import amount, print_table
from anynet_study.design_space import Population, memory
from anynet_study.design_space.architecture import Costs, NetworkPart, breakdown
from anynet_study.design_space.population_table import values_of
from anynet_study.design_space.validation import whole_number

#: Label, unit, and decimals in that unit of the measures of a network among others.
COLUMNS = {
    "flops": ("FLOPs\n(M)", 1e6, 1),
    "parameters": ("parameters\n(M)", 1e6, 2),
    "activations": ("activations\n(M)", 1e6, 2),
    "training_memory": ("memory\n(GB)", 1e9, 2),
}
QUARTILES = {"lowest": 0, "25%": 25, "median": 50, "75%": 75, "highest": 100}


def show_one(network: Network, batch: int, as_json: bool) -> None:
    """Print a network and its parts."""
    parts = _parts(network, batch)
    if as_json:
        print(json.dumps(_as_json(network, batch)))
        return
    a, total = network.architecture, _total(parts)
    name = "" if network.name == a.id else f"{network.name}: "
    print(f"{name}architecture {a.id} at {_place(network)}\n")
    _print_structure(parts)
    print()
    _print_shares(parts, total)
    print(
        f"\nFLOPs {total.flops:,}, parameters {total.parameters:,}, "
        f"activations {total.activations:,};\ntraining with batch {batch} takes "
        f"{total.training_memory / 1e9:,.2f} GB of memory"
    )


def show_several(networks: Sequence[Network], batch: int, as_json: bool) -> None:
    """Print one network a row."""
    if as_json:
        print(json.dumps([_as_json(network, batch) for network in networks]))
        return
    places = {(network.resolution, network.classes) for network in networks}
    several = len(places) > 1
    where = "" if several else f" at {_place(networks[0])}"
    print(f"{len(networks)} networks{where}; memory of training with batch {batch}\n")
    headings = ["", *(("px", "classes") if several else ()), *(c[0] for c in COLUMNS.values())]
    rows = []
    for network in networks:
        total = _total(_parts(network, batch))
        place = (network.resolution, network.classes) if several else ()
        rows.append([network.name, *place, *_in_units(total)])
    print_table(headings, rows)


def show_population(population: Population, batch: int, as_json: bool) -> None:
    """Print the quartiles of what the architectures of a population cost."""
    values = _population_costs(population, batch)
    points = list(QUARTILES.values())
    spread = {name: np.percentile(costs, points).tolist() for name, costs in values.items()}
    place = {"resolution": population.resolution, "classes": population.classes}
    if as_json:
        named = {name: dict(zip(QUARTILES, row, strict=True)) for name, row in spread.items()}
        print(json.dumps({**named, "count": len(population), **place, "batch": batch}))
        return
    print(
        f"{len(population)} architectures at {population.resolution} px, {population.classes} "
        f"classes; memory of training with batch {batch}\n"
    )
    rows = []
    for name, row in spread.items():
        label, unit, decimals = COLUMNS[name]
        cells = (f"{value / unit:,.{decimals}f}" for value in row)
        rows.append([label.replace("\n", " "), *cells])
    print_table(["", *QUARTILES], rows)
    print(f"\none of them by its stages: --id {population.ids[0]}")


def _population_costs(population: Population, batch: int) -> dict[str, Any]:
    whole_number(batch, "batch", 1, memory.MAX_BATCH)
    values = {name: values_of(population.table[name]) for name in Costs._fields[:3]}
    needed = np.empty(len(population), dtype=np.int64)
    for rows, networks in population.groups:
        place = (population.resolution, population.classes)
        needed[rows] = memory.training_memory(networks, *place, batch)
    return {**values, "training_memory": needed}


def _parts(network: Network, batch: int) -> list[NetworkPart]:
    return breakdown(network.architecture, network.resolution, network.classes, batch)


def _total(parts: Iterable[NetworkPart]) -> Costs:
    return Costs(*map(sum, zip(*(part.costs for part in parts), strict=True)))


def _place(network: Network) -> str:
    return f"{network.resolution} px, {network.classes} classes"


def _as_json(network: Network, batch: int) -> dict[str, Any]:
    parts = _parts(network, batch)
    stem, *stages, head = ({**part._asdict(), **part.costs._asdict()} for part in parts)
    for part in (stem, *stages, head):
        del part["costs"]
    return {
        "name": network.name,
        **_total(parts)._asdict(),
        "resolution": network.resolution,
        "classes": network.classes,
        "batch": batch,
        "id": network.architecture.id,
        "architecture": network.architecture.to_dict(),
        "stem": stem,
        "stages": stages,
        "head": head,
    }


def _print_structure(parts: Sequence[NetworkPart]) -> None:
    rows = [
        [p.name, p.blocks, p.width, p.bottleneck_width, p.groups, f"{p.side}x{p.side}"]
        for p in parts
    ]
    print_table(("", "blocks", "width", "bottleneck", "groups", "output"), rows)


def _print_shares(parts: Sequence[NetworkPart], total: Costs) -> None:
    labels = ("FLOPs", "parameters", "activations", "memory")
    rows = [["in all", *(cell for count in total for cell in (amount(count), ""))]]
    for part in reversed(parts):
        cells = (
            cell
            for count, whole in zip(part.costs, total, strict=True)
            for cell in (amount(count), f"{100 * count / whole:.1f}")
        )
        rows.insert(0, [part.name, *cells])
    print_table(("", *(heading for label in labels for heading in (label, "%"))), rows)


def _in_units(costs: Costs) -> list[str]:
    units = (COLUMNS[name] for name in Costs._fields)
    return [f"{c / unit:,.{digits}f}" for c, (_, unit, digits) in zip(costs, units, strict=True)]
