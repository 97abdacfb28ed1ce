"""Inputs of the scripts on further test sets: of a store's evaluations, or columns of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.inputs import read_errors
from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

DatasetName = Annotated[
    str, typer.Option("--dataset", help="Of a store: whose runs' evaluations on test sets.")
]
Images = Annotated[
    list[str] | None, typer.Option("--images", help="NAME=COUNT,... of the test sets' images.")
]


def read_test_sets(source: Path, dataset: str, accuracy: bool) -> "pd.DataFrame":
    """Errors in percent, architectures x test sets; of a store "test" first.

    `dataset` is which of a store's datasets the runs were trained on; where it has one, that one.
    """
    read = read_errors(source, accuracy=accuracy)
    if read.store is None:
        return read.errors
    names = list(read.errors.columns)
    if not dataset and len(names) > 1:
        raise UserError(f"{source}: say which --dataset; there are {', '.join(map(str, names))}")
    return read.store.evaluation_errors(dataset or names[0])


def image_counts(options: list[str] | None) -> dict[str, int] | None:
    """Counts from the option --images NAME=COUNT[,NAME=COUNT]; None where it is not given."""
    counts: dict[str, int] = {}
    for value in (part for text in options or [] for part in text.split(",")):
        name, _, count = value.strip().rpartition("=")
        if not name or not count.isdigit():
            raise UserError(f"--images: {value!r} is not NAME=COUNT, such as val=50000")
        counts[name] = int(count)
    return counts or None
