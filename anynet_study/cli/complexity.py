"""What networks cost: one by its stages, several or a whole population in a table."""

from typing import Annotated

import typer

from anynet_study.errors import UserError


def complexity(
    networks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NETWORK",
            help="Name of a reference network such as resnet50, YAML or JSON file of an "
            "architecture, the JSON itself, a population's Parquet, CSV or JSON file, or a study.",
        ),
    ] = None,
    architecture_id: Annotated[
        str, typer.Option("--id", help="Which architecture of the population.", metavar="ID")
    ] = "",
    names: Annotated[bool, typer.Option("--list", help="List the reference networks.")] = False,
    resolution: Annotated[
        int | None,
        typer.Option(help="Image side in pixels; else 224, or 32 for networks named for CIFAR."),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(help="Number of classes; else 1000, or 10 for networks named for CIFAR."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Images in a batch, for the memory.")] = 128,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Count FLOPs, parameters, activations and training memory.

    One network is shown by its stages, several one a row, a population by its quartiles. FLOPs
    are multiply-adds of convolutions and linear layers for one image, activations what these put
    out; memory is what one training step in 32-bit floats holds.

    The keys of an architecture: depths and widths, a value for each stage; and, if not the
    defaults, bottleneck_ratios, group_widths, strides, stem (imagenet, simple or cifar),
    stem_width, block (bottleneck, basic or vanilla), se_ratio.

    \b
    Examples:
      anynet-study complexity resnet50
      anynet-study complexity regnetx_400mf regnety_400mf resnet18
      anynet-study complexity architecture.yaml --resolution 32 --classes 10
      anynet-study complexity population.parquet --id 77a1b3dd2f0c94e1
      anynet-study complexity --list
    """
    from anynet_study.cli import complexity_text as text
    from anynet_study.cli.complexity_sources import is_population, network_of, population_of
    from anynet_study.design_space.reference import NAMES

    sources = [*(networks or ()), *(NAMES if names else ())]
    if not sources:
        raise UserError("name a network, a file or a population; --list shows reference networks")
    alone = len(sources) == 1 and is_population(sources[0])
    if architecture_id and not alone:
        raise UserError("--id chooses from a population; give its file, and nothing else")
    if alone and not architecture_id:
        text.show_population(population_of(sources[0], resolution, classes), batch, as_json)
        return
    found = [network_of(source, architecture_id, resolution, classes) for source in sources]
    if len(found) == 1:
        text.show_one(found[0], batch, as_json)
    else:
        text.show_several(found, batch, as_json)
