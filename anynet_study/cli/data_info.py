"""`anynet-study data info`: one dataset, or a variant of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.tables import print_table

if TYPE_CHECKING:
    from anynet_study.data import PackedDataset

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A dataset in the data directory.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all data and check them against their hash.")
    ] = False,
    variant: Annotated[
        str | None,
        typer.Option(metavar="KEY=VALUE,...", help="Show a view of it, with a sweep's keys."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a PNG of some images, a row a class."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the manifest of its split, for --split-from."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a dataset's classes, counts, split, statistics and faults.

    Faults are duplicates, between the splits too, and unreadable images.

    \b
    Examples:
      anynet-study data info digits --verify
      anynet-study data info digits --picture digits.png --manifest split.csv
      anynet-study data info digits --variant classes=5,class_seed=1
      anynet-study data info digits --variant "groups={even: [0, 2], odd: [1, 3]},label_noise=0.2"
    """
    from anynet_study.data import load_dataset
    from anynet_study.data.contact_sheet import save_contact_sheet
    from anynet_study.data.describe import details, summary
    from anynet_study.data.packed.manifest import copy_manifest

    dataset = load_dataset(name)
    if verify:
        dataset.verify()
    if picture is not None:
        save_contact_sheet(dataset, picture)
    if manifest is not None:
        copy_manifest(dataset, manifest)
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
    print_table(("class", "train", "test"), list(counts))


def _print_view(dataset: "PackedDataset", text: str, as_json: bool) -> None:
    from anynet_study.cli.variant_text import parse_variant
    from anynet_study.data import make_view
    from anynet_study.data.describe import view_details, view_rows, view_summary

    variant = parse_variant(dataset.name, text)
    view = make_view(dataset, variant)
    if as_json:
        print(json.dumps(view_details(view, variant), indent=1))
        return
    for line in view_summary(view):
        print(line)
    rows: list[tuple[object, ...]] = list(view_rows(view))
    if any(row[1] for row in rows):
        print_table(("class", "of", "train", "test"), rows, left=2)
    else:
        print_table(("class", "train", "test"), [(row[0], *row[2:]) for row in rows])
