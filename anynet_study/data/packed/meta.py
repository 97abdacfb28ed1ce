"""`meta.json` of a packed dataset: what it holds, where it comes from, what was left out."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from anynet_study.core.errors import UnreadableError, UserError, keeps_from_reading
from anynet_study.core.files import read_regular
from anynet_study.data.packed.form import Form, Store

SCHEMA_VERSION = 2
Split = Literal["train", "test"]
SPLITS: tuple[Split, Split] = ("train", "test")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SplitCounts(_Frozen):
    """Images of a split, in total and by class."""

    images: int
    per_class: tuple[int, ...]


class Holdout(_Frozen):
    """The record of how a test split of our own was made; the images are in `split.csv`."""

    seed: int
    share: float
    grouped: bool


class Limit(_Frozen):
    """The part of the source that was taken."""

    seed: int
    per_class: int | None
    fraction: float | None


class Broken(_Frozen):
    """An image that could not be read and was left out."""

    split: Split
    image: str
    reason: str


class Duplicates(_Frozen):
    """Images whose packed pixels are equal to those of an earlier one."""

    test_in_train: int
    within_train: int
    within_test: int

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return any((self.test_in_train, self.within_train, self.within_test))


class Meta(_Frozen):
    """`meta.json` of a packed dataset."""

    schema_version: int
    name: str
    classes: tuple[str, ...]
    #: Height and width in pixels.
    size: int
    #: What the shorter side was scaled to before the centre was cut out; None: to `size`.
    resize: int | None = None
    #: How images are kept, see `Form`.
    store: Store = "raw"
    #: Of size, classes, labels and pixels of both splits; see `content_hash`.
    content_hash: str
    layout: str
    #: What it was made from: the last part of the path.
    source: str
    train: SplitCounts
    test: SplitCounts
    holdout: Holdout | None
    limit: Limit | None
    duplicates: Duplicates
    quarantined: tuple[Broken, ...]
    #: Files in the source that are no labelled image of either split.
    ignored: int
    #: Whether an image can have several classes: labels are then a matrix (`labels.Labels`).
    multi_label: bool = False
    #: Superclasses that the source itself has, by name the classes in each; or none.
    superclasses: dict[str, tuple[str, ...]] = {}
    #: What to know about how the source was read.
    notes: tuple[str, ...] = ()
    #: Name of the manifest that the split was taken from.
    split_from: str | None = None
    #: How the source was told to be read, by option of `data add`.
    choices: dict[str, str] = {}

    @property
    def grouped(self) -> bool:
        """Tell whether the test split was drawn by groups of images, which the manifest names."""
        return self.holdout is not None and self.holdout.grouped


def content_hash(
    form: Form, classes: tuple[str, ...], splits: Mapping[Split, tuple[bytes, bytes]]
) -> str:
    """The identity of a dataset's content, 64 hexadecimal digits.

    `splits` are the digests of each split's labels (SHA-256 of the array) and images (see
    `digest`). Names of files and of the dataset, times and the layout do not enter; `resize` only
    where images are files that are fitted when they are decoded.
    """
    header: list[object] = [form.size, list(classes)]
    if form.store != "raw":
        header += [form.store, form.resize]
    whole = hashlib.sha256(json.dumps(header, ensure_ascii=True).encode())
    for split in SPLITS:
        for digest in splits[split]:
            whole.update(digest)
    return whole.hexdigest()


def read_meta(path: Path) -> Meta:
    """Read `meta.json`, of any version so far; UserError if it is damaged or of a newer one."""
    try:
        raw = json.loads(read_regular(path).decode("utf-8"))
        version = raw["schema_version"]
        if version not in range(1, SCHEMA_VERSION + 1):
            raise UserError(
                f"{path}: schema version {version!r}, but this version reads versions 1 to "
                f"{SCHEMA_VERSION}; update anynet-study, or add the dataset again with --force"
            )
        return Meta.model_validate(raw)
    except UserError:
        raise
    except FileNotFoundError as error:
        raise damaged(path, "the file is missing") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise damaged(path, "not the meta data of a packed dataset") from error


def damaged(path: Path, reason: str) -> UnreadableError:
    """The error for a packed dataset that is not as it was written.

    Of a disk that fails, or a file that may not be read, that. To be raised where that which shows
    it is handled.
    """
    failed = sys.exc_info()[1]
    if keeps_from_reading(failed):
        told = os.strerror(failed.errno or 0)
        return UnreadableError(f"{path}: cannot be read ({told}); the file itself may be whole")
    line = reason.splitlines()[0] if reason else "unreadable"
    return UnreadableError(
        f"{path}: damaged dataset ({line}); remove its folder, and add it again (data add) if it "
        "is not built in"
    )
