"""`anynet-study complexity`: what networks cost, one by its stages, several in a table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anynet_study.cli.options import AsJson, opt
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import UserError, amount, counted, nearest

if TYPE_CHECKING:
    from anynet_study.design_space import AnyNetwork, Architecture, Costs, NetworkPart, Population

POPULATIONS = (".parquet", ".csv")
ARCHITECTURES = (".yaml", ".yml", ".json")
#: Label, unit, and decimals in that unit of the measures of a network among others.
COLUMNS = {
    "flops": ("FLOPs (M)", 1e6, 1),
    "parameters": ("parameters (M)", 1e6, 2),
    "activations": ("activations (M)", 1e6, 2),
    "training_memory": ("memory (GB)", 1e9, 2),
}


def complexity(
    networks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NETWORK",
            help="Name of a reference network such as resnet50, of a function of your own "
            "(module:function) or of a library's model (timm:NAME), YAML or JSON file of an "
            "architecture, the JSON itself, a population's Parquet, CSV or JSON file, or a study.",
        ),
    ] = None,
    architecture_id: Annotated[
        str, opt("Which architecture of the population.", "--id", metavar="ID")
    ] = "",
    names: Annotated[bool, opt("List the reference networks.", "--list")] = False,
    resolution: Annotated[
        int | None, opt("Image side in pixels; else 224, or 32 for networks named for CIFAR.")
    ] = None,
    classes: Annotated[
        int | None, opt("Number of classes; else 1000, or 10 for networks named for CIFAR.")
    ] = None,
    batch: Annotated[int, opt("Images in a batch, for the memory.")] = 128,
    as_json: AsJson = False,
) -> None:
    """Count FLOPs, parameters, activations and training memory.

    One network is shown by its stages, several in a table of one row each, a population by its
    quartiles. FLOPs are multiply-adds of convolutions and linear layers for one image, activations
    are the numbers that these layers put out; memory is what one training step in 32-bit floats
    holds.

    The keys of an architecture: depths and widths, a value for each stage; and, if not the
    defaults, bottleneck_ratios, group_widths, strides, stem (imagenet, simple or cifar),
    stem_width, block (bottleneck, basic or vanilla), se_ratio.

    \b
    Examples:
      anynet-study complexity resnet50
      anynet-study complexity regnetx_400mf regnety_400mf resnet18
      anynet-study complexity architecture.yaml --resolution 32 --classes 10
      anynet-study complexity my_networks:vgg --resolution 8 --classes 10
      anynet-study complexity population.parquet --id 77a1b3dd2f0c94e1
      anynet-study complexity --list
    """
    from anynet_study.design_space import REFERENCE_NAMES, Population
    from anynet_study.engine.sweep import named

    sources = [*(networks or ()), *(REFERENCE_NAMES if names else ())]
    if not sources:
        raise UserError("name a network, a file or a population; --list shows reference networks")
    file = _population_file(sources[0]) if len(sources) == 1 else None
    if architecture_id and file is None:
        raise UserError("--id chooses from a population; give its file, and nothing else")
    if file is not None and not architecture_id:
        _show_population(Population.read(file, resolution, classes, named), batch, as_json)
        return
    found = [_counted(source, architecture_id, resolution, classes, batch) for source in sources]
    if as_json:
        told = [_as_json(network, batch) for network in found]
        print(json.dumps(told[0] if len(told) == 1 else told))
    elif len(found) == 1 and found[0].parts:
        _show_one(found[0], batch)
    else:
        _show_several(found, batch)


@dataclass(frozen=True)
class Network:
    """A network, the image side and number of classes at which it is counted, and its costs."""

    name: str
    architecture: "AnyNetwork"
    resolution: int
    classes: int
    total: "Costs"
    #: None of a network without stages.
    parts: "list[NetworkPart]"

    @property
    def place(self) -> str:
        """Return where the costs are counted, in words."""
        return f"{self.resolution} px, {self.classes} classes"


def _counted(
    source: str, architecture_id: str, resolution: int | None, classes: int | None, batch: int
) -> Network:
    """Find a network and count; without resolution or classes, where it was published.

    Networks without stages are built and traced. Raises UserError for what is neither a name nor a
    file, and for what is in no file.
    """
    from anynet_study.design_space import Costs, costs_by_part, is_reference, published_at

    published = published_at(source) if is_reference(source) else (224, 1000)
    resolution = published[0] if resolution is None else resolution
    classes = published[1] if classes is None else classes
    place = resolution, classes
    if ":" in source and not _is_inline(source) and not Path(source).exists():
        from anynet_study.engine.models import trace_network

        network = trace_network(source, *place)
        counts = network.costs_at(*place)
        memory = network.training_memory(batch, *place)
        total = Costs(counts.flops, counts.parameters, counts.activations, memory)
        return Network(source, network, *place, total, [])
    name, architecture = _found(source, architecture_id)
    parts = costs_by_part(architecture, *place, batch)
    total = Costs(*map(sum, zip(*(part.costs for part in parts), strict=True)))
    return Network(name, architecture, *place, total, parts)


def _found(source: str, architecture_id: str) -> "tuple[str, Architecture]":
    from anynet_study.design_space import (
        REFERENCE_NAMES,
        Architecture,
        ForeignNetwork,
        Population,
        canonical,
        is_reference,
        reference,
    )
    from anynet_study.engine.sweep import load_yaml, parse_yaml

    path, population = Path(source), _population_file(source)
    if population is not None:
        if not architecture_id:
            raise UserError(f"{source}: give a population alone, or choose of it with --id")
        found = Population.read(population).find(architecture_id)
        if isinstance(found, ForeignNetwork):
            raise UserError(
                f"{source}: {architecture_id} is {found.name}, which has no stages; see what it "
                f"costs with: anynet-study complexity {found.name}"
            )
        return architecture_id, found
    if _is_inline(source):
        try:
            stated = parse_yaml(source)
        except ValueError as error:
            raise UserError(f"architecture: neither YAML nor JSON: {error}") from None
        architecture = Architecture.from_dict(stated)
        return architecture.id, architecture
    if is_reference(source):
        return canonical(source), reference(source)
    if path.suffix in ARCHITECTURES or path.exists():
        return source, Architecture.from_dict(load_yaml(path, "file of an architecture"))
    hint = nearest(source.lower(), REFERENCE_NAMES)
    raise UserError(f"{source}: neither a file nor a reference network{hint}; --list shows these")


def _population_file(source: str) -> Path | None:
    """The file itself, or a study's; of JSON files, its beginning tells populations from others."""
    from anynet_study.design_space import is_reference
    from anynet_study.engine.study_folder import STUDIES, StudyFolder

    if _is_inline(source) or is_reference(source):
        return None
    path = Path(source)
    if path.suffix.lower() == ".json" and path.is_file():
        with path.open("rb") as file:
            return path if file.read(100).lstrip().startswith(b"[") else None
    if path.suffix.lower() in POPULATIONS:
        return path
    studies = [StudyFolder(path).population_file, StudyFolder(STUDIES / source).population_file]
    return next((file for file in studies if file.is_file()), None)


def _is_inline(source: str) -> bool:
    return source.lstrip().startswith("{")


def _show_one(network: Network, batch: int) -> None:
    """Print a network and its parts."""
    a, parts, total = network.architecture, network.parts, network.total
    name = "" if network.name == a.id else f"{network.name}: "
    print(f"{name}architecture {a.id} at {network.place}\n")
    structure = [
        [p.name, p.blocks, p.width, p.bottleneck_width, p.groups, f"{p.side}x{p.side}"]
        for p in parts
    ]
    print_table(("", "blocks", "width", "bottleneck", "groups", "output"), structure)
    print()
    labels = ("FLOPs", "parameters", "activations", "memory")
    shares = [[part.name, *_shares(part.costs, total)] for part in parts]
    shares.append(["in all", *(cell for count in total for cell in (amount(count), ""))])
    print_table(("", *(heading for label in labels for heading in (label, "%"))), shares)
    print(
        f"\nFLOPs {total.flops:,}, parameters {total.parameters:,}, "
        f"activations {total.activations:,};\ntraining with batch {batch} takes "
        f"{total.training_memory / 1e9:,.2f} GB of memory"
    )


def _shares(costs: "Costs", total: "Costs") -> list[str]:
    """Each cost, and its percentage of the total."""
    pairs = zip(costs, total, strict=True)
    return [cell for c, whole in pairs for cell in (amount(c), f"{100 * c / whole:.1f}")]


def _show_several(networks: Sequence[Network], batch: int) -> None:
    """Print one row per network."""
    several = len({network.place for network in networks}) > 1
    where = "" if several else f" at {networks[0].place}"
    print(f"{counted(len(networks), 'network')}{where}; memory of training with batch {batch}\n")
    headings = ["", *(("px", "classes") if several else ()), *(c[0] for c in COLUMNS.values())]
    rows = [
        [
            network.name,
            *((network.resolution, network.classes) if several else ()),
            *map(_in_units, COLUMNS, network.total),
        ]
        for network in networks
    ]
    print_table(headings, rows)


def _show_population(population: "Population", batch: int, as_json: bool) -> None:
    """Print the quartiles of what the architectures of a population cost."""
    from anynet_study.cli.population import LABELS, quartiles
    from anynet_study.design_space import MEASURES, Architecture, values_of

    values = {name: values_of(population.table[name]) for name in MEASURES}
    values["training_memory"] = population.training_memory(batch)
    spread = quartiles(values)
    place = {"resolution": population.resolution, "classes": population.classes}
    if as_json:
        print(json.dumps({**spread, "count": len(population), **place, "batch": batch}))
        return
    print(
        f"{len(population)} architectures at {population.resolution} px, {population.classes} "
        f"classes; memory of training with batch {batch}\n"
    )
    rows = [
        [COLUMNS[name][0], *(_in_units(name, value) for value in row.values())]
        for name, row in spread.items()
    ]
    print_table(["", *LABELS], rows)
    if staged := next((it.id for it in population if isinstance(it, Architecture)), ""):
        print(f"\none of them by its stages: --id {staged}")


def _in_units(measure: str, value: float) -> str:
    _, unit, decimals = COLUMNS[measure]
    shown = value / unit
    return f"{shown:,.{decimals}f}" if shown >= 10 ** (1 - decimals) else f"{shown:.2g}"


def _as_json(network: Network, batch: int) -> dict[str, Any]:
    parts = [{**part._asdict(), **part.costs._asdict()} for part in network.parts]
    for part in parts:
        del part["costs"]
    by_part = {"stem": parts[0], "stages": parts[1:-1], "head": parts[-1]} if parts else {}
    return {
        "name": network.name,
        **network.total._asdict(),
        "resolution": network.resolution,
        "classes": network.classes,
        "batch": batch,
        "id": network.architecture.id,
        "architecture": network.architecture.to_dict(),
        **by_part,
    }
