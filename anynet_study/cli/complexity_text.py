"""What networks cost, printed for people or as JSON."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from anynet_study.cli.complexity_sources import Network
from anynet_study.design_space import Population, memory
from anynet_study.design_space.breakdown import Costs, Part, breakdown
from anynet_study.design_space.populations.arrow import values_of
from anynet_study.design_space.validation import whole_number

#: Label, unit, and decimals in that unit of the measures of a network among others.
COLUMNS = {
    "flops": ("FLOPs\n(M)", 1e6, 1),
    "parameters": ("parameters\n(M)", 1e6, 2),
    "activations": ("activations\n(M)", 1e6, 2),
    "training_memory": ("memory\n(GB)", 1e9, 2),
}
QUARTILES = {"lowest": 0, "25%": 25, "median": 50, "75%": 75, "highest": 100}
LETTERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def show_one(network: Network, batch: int, as_json: bool) -> None:
    """Print a network and its parts."""
    parts = _parts(network, batch)
    if as_json:
        print(json.dumps(_as_json(network, batch)))
        return
    a, total = network.architecture, _total(parts)
    name = "" if network.name == a.id else f"{network.name}: "
    console = Console(highlight=False, markup=False)
    console.print(f"{name}architecture {a.id} at {_place(network)}\n")
    console.print(_structure(parts))
    console.print()
    console.print(_shares(parts, total))
    console.print(
        f"\nFLOPs {total.flops:,}, parameters {total.parameters:,}, "
        f"activations {total.activations:,};\ntraining with batch {batch} takes "
        f"{total.training_memory / 1e9:,.2f} GB of memory"
    )


def show_several(networks: Sequence[Network], batch: int, as_json: bool) -> None:
    """Print one network a row."""
    if as_json:
        print(json.dumps([_as_json(network, batch) for network in networks]))
        return
    console = Console(highlight=False, markup=False)
    places = {(network.resolution, network.classes) for network in networks}
    where = f" at {_place(networks[0])}" if len(places) == 1 else ""
    console.print(f"{len(networks)} networks{where}; memory of training with batch {batch}\n")
    table = _table("", *(("px", "classes") if len(places) > 1 else ()))
    for label, _, _ in COLUMNS.values():
        table.add_column(label, justify="right")
    for network in networks:
        total = _total(_parts(network, batch))
        place = (network.resolution, network.classes) if len(places) > 1 else ()
        table.add_row(network.name, *map(str, place), *_in_units(total))
    console.print(table)


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
    console = Console(highlight=False, markup=False)
    console.print(
        f"{len(population)} architectures at {population.resolution} px, {population.classes} "
        f"classes; memory of training with batch {batch}\n"
    )
    table = _table("", *QUARTILES)
    for name, row in spread.items():
        label, unit, decimals = COLUMNS[name]
        shown = (f"{value / unit:,.{decimals}f}" for value in row)
        table.add_row(label.replace("\n", " "), *shown)
    console.print(table)
    console.print(f"\none of them by its stages: --id {population.ids[0]}")


def _population_costs(population: Population, batch: int) -> dict[str, Any]:
    whole_number(batch, "batch", 1, memory.MAX_BATCH)
    values = {name: values_of(population.table[name]) for name in Costs._fields[:3]}
    needed = np.empty(len(population), dtype=np.int64)
    for rows, networks in population.groups:
        place = (population.resolution, population.classes)
        needed[rows] = memory.training_memory(networks, *place, batch)
    return {**values, "training_memory": needed}


def _parts(network: Network, batch: int) -> list[Part]:
    return breakdown(network.architecture, network.resolution, network.classes, batch)


def _total(parts: Iterable[Part]) -> Costs:
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


def _structure(parts: Sequence[Part]) -> Table:
    table = _table("", "blocks", "width", "bottleneck", "groups", "output")
    for part in parts:
        counts = (part.blocks, part.width, part.bottleneck_width, part.groups)
        table.add_row(
            part.name,
            *("" if count is None else f"{count}" for count in counts),
            f"{part.side}x{part.side}",
        )
    return table


def _shares(parts: Sequence[Part], total: Costs) -> Table:
    labels = ("FLOPs", "parameters", "activations", "memory")
    table = _table("", *(heading for label in labels for heading in (label, "%")))
    for part in parts:
        cells = (
            cell
            for count, whole in zip(part.costs, total, strict=True)
            for cell in (_short(count), f"{100 * count / whole:.1f}")
        )
        table.add_row(part.name, *cells)
    table.add_row("in all", *(cell for count in total for cell in (_short(count), "")))
    return table


def _in_units(costs: Costs) -> list[str]:
    units = (COLUMNS[name] for name in Costs._fields)
    return [f"{c / unit:,.{digits}f}" for c, (_, unit, digits) in zip(costs, units, strict=True)]


def _short(count: int) -> str:
    for unit, letter in LETTERS:
        if count >= unit:
            return f"{count / unit:.4g}{letter}"
    return str(count)


def _table(first: str, *headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
