"""`anynet-study data list`: the catalog, what of it is there, and what else is."""

import json
from typing import Annotated, Any

import typer

from anynet_study.cli.tables import print_table

#: What is missing, by kind.
MISSING = {
    "study": "missing of the study",
    "transfer": "missing for transfer",
    "test set": "missing test sets",
}
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def list_datasets(as_json: Json = False) -> None:
    """List datasets: what is there, where to get what is missing.

    Those of the study and for transfer, and test sets for networks trained on ImageNet or
    CIFAR-10. MB are those on the disk, of a missing one those that its pixels will take.

    \b
    Example:
      anynet-study data list
    """
    from anynet_study.data import data_root
    from anynet_study.data.library import inventory

    rows = inventory()
    if as_json:
        print(json.dumps({"root": str(data_root()), "datasets": rows}, indent=1))
        return
    print(f"data directory: {data_root()}")
    header = ("dataset", "state", "classes", "train", "test", "px", "MB")
    print_table(header, [_cells(row) for row in rows], left=2)
    missing = [row for row in rows if row["state"] == "missing"]
    for kind, title in MISSING.items():
        told: list[tuple[object, ...]] = [
            (row["name"], row["source"], row["licence"]) for row in missing if row["kind"] == kind
        ]
        if told:
            print(f"{title}; where to get it, and its licence:")
            print_table((), told, left=3)
    damaged: list[tuple[object, ...]] = [
        (row["name"], row["source"]) for row in rows if row["state"] == "damaged"
    ]
    if damaged:
        print("damaged:")
        print_table((), damaged, left=2)


def _cells(row: dict[str, Any]) -> tuple[object, ...]:
    keys = ("name", "state", "classes", "train", "test", "size")
    megabytes = None if row["bytes"] is None else max(1, round(row["bytes"] / 1e6))
    return (*(row[key] for key in keys), megabytes)
