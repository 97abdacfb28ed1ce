"""What one architecture costs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anynet_study.errors import UserError

if TYPE_CHECKING:
    from anynet_study.design_space import Architecture


def complexity(
    architecture: Annotated[
        str,
        typer.Argument(
            metavar="ARCHITECTURE",
            help="YAML or JSON file of an architecture, the JSON itself, or a population's "
            "Parquet file (with --id).",
        ),
    ],
    architecture_id: Annotated[
        str, typer.Option("--id", help="Which architecture of the population.")
    ] = "",
    resolution: Annotated[int, typer.Option(help="Image side in pixels.")] = 224,
    classes: Annotated[int, typer.Option(help="Number of classes.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Count an architecture's FLOPs, parameters and activations.

    FLOPs are multiply-adds. The keys of an architecture: depths, widths, bottleneck_ratios,
    group_widths (four values each); and, if not the defaults, strides, stem (imagenet or cifar),
    stem_width.

    \b
    Examples:
      anynet-study complexity architecture.yaml --resolution 32 --classes 10
      anynet-study complexity population.parquet --id 77a1b3dd2f0c94e1
    """
    chosen = _read(architecture, architecture_id)
    costs = {
        "flops": chosen.flops(resolution, classes),
        "parameters": chosen.parameters(classes),
        "activations": chosen.activations(resolution, classes),
    }
    if as_json:
        print(json.dumps(costs))
    else:
        _print_table(chosen, costs, f"{resolution} px, {classes} classes")


def _read(source: str, architecture_id: str) -> "Architecture":
    from anynet_study.design_space import Architecture, Population

    path = Path(source)
    if path.suffix != ".parquet":
        if architecture_id:
            raise UserError("--id chooses from a population; give its .parquet file")
        inline = source.lstrip().startswith("{")
        return Architecture.from_dict(_parsed(source if inline else _text(path)))
    population = Population.read(path)
    if not architecture_id:
        raise UserError(
            f"{path}: say which of its {len(population)} architectures with --id, for example "
            f"--id {population.ids[0]}"
        )
    return population.find(architecture_id)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}; give a YAML or JSON file, JSON, or a population with --id"
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text file, so neither YAML nor JSON") from None


def _parsed(text: str) -> Any:
    """Parse YAML, of which JSON is a part."""
    from anynet_study.sweep_text import parse_yaml

    try:
        return parse_yaml(text)
    except ValueError as error:
        raise UserError(f"architecture: neither YAML nor JSON: {error}") from None


def _print_table(architecture: "Architecture", costs: dict[str, int], setting: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    table.add_column("")
    table.add_column("in all", justify="right")
    table.add_column("millions", justify="right")
    for name, count in costs.items():
        table.add_row(name, f"{count:,}", f"{count / 1e6:,.2f}")
    console = Console()
    console.print(f"architecture {architecture.id} at {setting}", highlight=False)
    console.print(table)
