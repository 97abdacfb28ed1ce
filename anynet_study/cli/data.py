"""`anynet-study data`: add datasets as they were downloaded, list them, look at one."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from anynet_study.data import PackedDataset

data_app = typer.Typer(
    no_args_is_help=True,
    help="Add datasets as they were downloaded; list them; look at one. They live in "
    "$ANYNET_DATA, by default the folder data/.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@data_app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that sweeps will use.")],
    source: Annotated[
        Path, typer.Option("--from", help="The folder or the zip or tar archive to read.")
    ],
    size: Annotated[
        int | None,
        typer.Option(help="Height and width in pixels. Default: the study's, if NAME is its."),
    ] = None,
    test_share: Annotated[
        float, typer.Option(help="Share of each class held out where there is no test split.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of the held-out split and of limits.")] = 0,
    max_broken: Annotated[
        float, typer.Option(help="Share of unreadable images that is tolerated.")
    ] = 0.01,
    limit_per_class: Annotated[
        int | None, typer.Option(help="At most so many images of each class of each split.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Take this share of each class of each split.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset of this name.")] = False,
) -> None:
    """Recognise, decode and pack a dataset as it was downloaded.

    Images are resized, the shorter side to SIZE, and cut to their centre. Unreadable ones are
    left out and listed.

    \b
    Examples:
      anynet-study data add cifar10 --from cifar10-images.tar.gz
      anynet-study data add signs --from sign-language-digits.tar.gz --size 32
    """
    from anynet_study.data import add_dataset
    from anynet_study.data.describe import summary

    dataset = add_dataset(
        name,
        source,
        size=size,
        test_share=test_share,
        seed=seed,
        max_broken=max_broken,
        limit_per_class=limit_per_class,
        fraction=fraction,
        force=force,
    )
    for line in summary(dataset):
        print(line)


@data_app.command(name="list")
def list_(as_json: Json = False) -> None:
    """List datasets: what is there, where to get what is missing.

    \b
    Example:
      anynet-study data list
    """
    from anynet_study.data import data_root
    from anynet_study.data.describe import inventory

    rows = inventory()
    if as_json:
        print(json.dumps({"root": str(data_root()), "datasets": rows}, indent=1))
        return
    print(f"data directory: {data_root()}")
    keys = ("name", "state", "classes", "train", "test", "size")
    header = ("dataset", "state", "classes", "train", "test", "px")
    _print_table(header, [tuple(row[key] for key in keys) for row in rows])
    for state, title in (("missing", "where to get what is missing"), ("damaged", "damaged")):
        told: list[tuple[object, ...]] = [
            (row["name"], row["source"]) for row in rows if row["state"] == state
        ]
        if told:
            print(f"{title}:")
            _print_table((), told)


@data_app.command()
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset in the data directory.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all data and check them against their hash.")
    ] = False,
    variant: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE,...", help="Show a view of it, with a sweep's keys."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a dataset's classes, counts, statistics and faults.

    Faults are duplicates, between the splits too, and unreadable images.

    \b
    Examples:
      anynet-study data info digits --verify
      anynet-study data info digits --variant classes=5,class_seed=1
      anynet-study data info digits --variant "groups={even: [0, 2], odd: [1, 3]},label_noise=0.2"
    """
    from anynet_study.data import load_dataset
    from anynet_study.data.describe import details, summary

    dataset = load_dataset(name)
    if verify:
        dataset.verify()
    if variant is not None:
        _print_view(dataset, variant, as_json)
        return
    if as_json:
        print(json.dumps(details(dataset), indent=1))
        return
    for line in summary(dataset):
        print(line)
    counts = zip(
        dataset.classes,
        dataset.counts("train").per_class,
        dataset.counts("test").per_class,
        strict=True,
    )
    _print_table(("class", "train", "test"), list(counts))


def _print_view(dataset: "PackedDataset", text: str, as_json: bool) -> None:
    from anynet_study.cli.variant_text import parse_variant
    from anynet_study.data import make_view
    from anynet_study.data.describe_view import view_details, view_rows, view_summary

    variant = parse_variant(dataset.name, text)
    view = make_view(dataset, variant)
    if as_json:
        print(json.dumps(view_details(view, variant), indent=1))
        return
    for line in view_summary(view):
        print(line)
    rows: list[tuple[object, ...]] = list(view_rows(view))
    if any(row[1] for row in rows):
        _print_table(("class", "of", "train", "test"), rows)
    else:
        _print_table(("class", "train", "test"), [(row[0], *row[2:]) for row in rows])


def _print_table(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE_HEAD, pad_edge=False, show_header=bool(header))
    for column, values in zip(table.columns, zip(*rows, strict=True), strict=False):
        if any(isinstance(value, int) for value in values):
            column.justify = "right"
        column.overflow = "fold"
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    Console(markup=False, highlight=False).print(table)
