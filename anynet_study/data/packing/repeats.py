"""Which images of a dataset are the same, by name."""

from typing import NamedTuple

from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.meta import SPLITS
from anynet_study.data.packing.duplicates import first_equals
from anynet_study.data.splits.manifest import FILE, read_manifest
from anynet_study.errors import UserError, printable


class Repeat(NamedTuple):
    """An image whose packed pixels are those of an earlier one."""

    split: str
    image: str
    first_split: str
    first: str
    same_class: bool


def repeated_images(dataset: PackedDataset) -> list[Repeat]:
    """Every image that equals an earlier one, train before test.

    None where no manifest names them: older versions wrote another, and a dataset without it is
    whole otherwise.
    """
    try:
        rows = read_manifest(dataset.folder / FILE)
    except UserError:
        return []
    if len(rows) != sum(dataset.counts(split).images for split in SPLITS):
        return []
    moments = {split: dataset.moments(split) for split in SPLITS}
    images = {split: dataset.images(split) for split in SPLITS}
    firsts = [first for part in first_equals(moments, images) for first in part.tolist()]
    return [
        Repeat(
            rows[place].split,
            printable(rows[place].image),
            rows[first].split,
            printable(rows[first].image),
            rows[place].label == rows[first].label,
        )
        for place, first in enumerate(firsts)
        if place != first
    ]
