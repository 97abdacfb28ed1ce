"""Captions of training images: texts that runs with `loss: clip` learn from."""

import json
from collections.abc import Mapping, Sequence

from anynet_study.core.errors import UserError
from anynet_study.data.packed.dataset import CAPTIONS, PackedDataset
from anynet_study.data.packed.digests import add_file
from anynet_study.data.packed.manifest import image_names


def add_captions(dataset: PackedDataset, said: Mapping[str, Sequence[str]]) -> int:
    """Store captions of images, by their paths in the source; earlier captions are replaced.

    Returns how many training images have one; UserError if none has.
    """
    captions = [list(said.get(name, ())) for name in image_names(dataset, "train")]
    if not any(captions):
        told = f"captions: none is of a training image of {dataset.name!r}"
        if said and dataset.counts("train").images:
            there = image_names(dataset, "train")[0]
            told += f"; they name such as {next(iter(said))!r}, its images such as {there!r}"
        raise UserError(told)
    add_file(dataset.folder, CAPTIONS, json.dumps(captions, ensure_ascii=False) + "\n")
    return sum(map(bool, captions))
