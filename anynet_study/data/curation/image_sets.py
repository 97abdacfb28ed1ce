"""Images with their names and classes: a split of a packed dataset, or what a table lists."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.sheets import read_parquet, text_of
from anynet_study.data import (
    Images,
    PackedDataset,
    Split,
    image_names,
    load_dataset,
)

if TYPE_CHECKING:
    import pandas as pd

SPLITS: tuple[Split, Split] = ("train", "test")


@dataclass(frozen=True)
class ImageSet:
    """Some images of one size."""

    #: The name under which it was asked for, such as `cifar10:test`.
    name: str
    #: (N, size, size, 3) uint8.
    images: Images
    #: (N,) path of each in its source.
    names: list[str]
    #: (N,) name of the class of each; of images with several classes, the first.
    classes: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.images)


def open_images(text: str, split: Split | None = None) -> ImageSet:
    """The images of `NAME:train` or `NAME:test`, a split of a packed dataset.

    Without a split in the name, `split` is taken; if that is None, the training images, or the test
    images if there are no others. UserError if the dataset or split does not exist.
    """
    name, colon, told = text.partition(":")
    if colon and told not in SPLITS:
        raise UserError(f"{text}: no split {told!r}; legal: {name}:train, {name}:test")
    dataset = load_dataset(name)
    chosen: Split = split or ("test" if dataset.test_only else "train")
    if colon:
        chosen = "train" if told == "train" else "test"
    if not dataset.counts(chosen).images:
        raise UserError(f"{text}: dataset {name!r} has no {chosen} images")
    return images_of(dataset, chosen)


def images_of(dataset: PackedDataset, split: Split) -> ImageSet:
    """The images of a split."""
    labels = dataset.labels(split)
    numbers = labels.argmax(axis=1) if labels.ndim == 2 else labels
    classes = np.array(dataset.classes, object)[np.asarray(numbers)]
    names = image_names(dataset, split)
    return ImageSet(f"{dataset.name}:{split}", dataset.images(split), names, classes)


def read_table(path: Path, columns: tuple[str, ...]) -> "pd.DataFrame":
    """Read a CSV or Parquet table. UserError names the file if it lacks one of `columns`.

    All columns of a CSV are read as text.
    """
    table = read_parquet(path).to_pandas() if path.suffix == ".parquet" else _read_csv(path)
    missing = [column for column in columns if column not in table]
    if missing:
        there = ", ".join(map(str, table.columns))
        raise UserError(f"{path}: no column {missing[0]!r}; it has {there}")
    if table.empty:
        raise UserError(f"{path}: the table has no rows")
    return table


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False).map(text_of)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # of pandas, too
        raise UserError(f"{path}: no table can be read from it ({first_line(error)})") from None


def numbers_of(table: "pd.DataFrame", column: str, path: Path, most: float) -> NDArray[Any]:
    """(rows,) a column of numbers from 0 to `most`. UserError names the first illegal row."""
    import pandas as pd

    values: NDArray[Any] = pd.to_numeric(table[column], errors="coerce").to_numpy(float)
    wrong = np.flatnonzero(~((values >= 0) & (values <= most)))
    if len(wrong):
        told = table[column].iloc[wrong[0]]
        raise UserError(
            f"{path}: row {wrong[0] + 1}: {column} {told!r}; legal is a number from 0 to {most:g}"
        )
    return values
