"""Datasets that need no download, made on demand."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.meta import Holdout
from anynet_study.data.packed.root import dataset_folder, publish, workspace
from anynet_study.data.packing.packing import Origin, pack
from anynet_study.data.procedural import BLOB_CLASSES, GRATING_CLASSES, blobs, gratings
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.splits.holdout import hold_out

LAYOUT = "built-in"
TEST_SHARE = 0.2
SEED = 0


def generate(name: str) -> PackedDataset:
    """Make the built-in dataset `name` and publish it; of several processes the first wins."""
    listing, holdout, source = BUILT_IN[name]()
    images = listing.train[0].pixels
    assert images is not None
    with workspace(name) as folder:
        pack(None, listing, Origin(name, source, holdout), len(images), folder / "packed")
        publish(folder / "packed", name)
    return PackedDataset.open(dataset_folder(name))


Built = tuple[Listing, Holdout | None, str]


def _digits() -> Built:
    """Handwritten digits of 8x8 px, grey 0..16; 20% held out by class."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    grey = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    images = np.repeat(grey[..., None], 3, axis=3)
    classes = tuple(str(name) for name in digits.target_names)
    examples = _examples("digits", images, digits.target)
    train, test = hold_out(examples, classes, TEST_SHARE, SEED)
    holdout = Holdout(seed=SEED, share=TEST_SHARE, grouped=False)
    return Listing(LAYOUT, "", classes, train, test), holdout, "scikit-learn's digits"


def _gratings() -> Built:
    return _drawn(gratings, GRATING_CLASSES, train=1200, test=600)


def _blobs() -> Built:
    return _drawn(blobs, BLOB_CLASSES, train=1200, test=600)


def _drawn(
    draw: Callable[[int, int], tuple[NDArray[np.uint8], NDArray[np.int64]]],
    classes: tuple[str, ...],
    train: int,
    test: int,
) -> Built:
    """The first `train` images of a procedural dataset are its training split."""
    images, labels = draw(train + test, SEED)
    examples = _examples("drawn", images, labels)
    return (
        Listing(LAYOUT, "", classes, examples[:train], examples[train:]),
        None,
        "formula",
    )


def _examples(prefix: str, images: NDArray[np.uint8], labels: NDArray[np.integer]) -> list[Example]:
    return [
        Example(f"{prefix}/{number:05d}", int(label), pixels=image)
        for number, (image, label) in enumerate(zip(images, labels, strict=True))
    ]


BUILT_IN: dict[str, Callable[[], Built]] = {
    "digits": _digits,
    "gratings": _gratings,
    "blobs": _blobs,
}
