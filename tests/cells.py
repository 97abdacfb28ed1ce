"""A dataset of images with several classes each: every class is a patch that is bright."""

from pathlib import Path

import numpy as np

from anynet_study.data import PackedDataset
from anynet_study.data.packing.packing import Origin, pack
from anynet_study.data.readers.listing import Example, Listing

#: More than fit in one word of stored predictions.
CLASSES = tuple(f"part {number}" for number in range(16))


def cells(folder: Path, train: int = 160, test: int = 60) -> PackedDataset:
    """Pack it into the new `folder`: noisy images of 8 x 8 pixels."""
    generator = np.random.default_rng(0)
    has = generator.random((train + test, len(CLASSES))) < 0.25
    has[np.arange(train + test), np.arange(train + test) % len(CLASSES)] = True
    patches = has.reshape(-1, 4, 4).repeat(2, axis=1).repeat(2, axis=2)
    light = 60 + 130 * patches + generator.integers(-30, 30, (train + test, 8, 8))
    pixels = light[..., None].repeat(3, axis=3).astype(np.uint8)
    examples = [
        Example(f"{number:04}", int(of[0]), pixels=image, also=tuple(of[1:].tolist()))
        for number, (image, of) in enumerate(zip(pixels, map(np.flatnonzero, has), strict=True))
    ]
    listing = Listing("made", "", CLASSES, examples[:train], examples[train:], multi_label=True)
    pack(None, listing, Origin("cells", "made"), 8, folder)
    return PackedDataset.open(folder)
