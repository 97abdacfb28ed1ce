"""`anynet-study data list`: the catalog, what of it is there, and what else is."""

import json
from typing import Annotated

import typer

from anynet_study.cli.data_table import print_table

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def list_datasets(as_json: Json = False) -> None:
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
    print_table(header, [tuple(row[key] for key in keys) for row in rows])
    for state, title in (("missing", "where to get what is missing"), ("damaged", "damaged")):
        told: list[tuple[object, ...]] = [
            (row["name"], row["source"]) for row in rows if row["state"] == state
        ]
        if told:
            print(f"{title}:")
            print_table((), told)
