"""Datasets that need no download, made on demand: scikit-learn's digits, and images by formula.

Those drawn by formula are targets of a character that photographs and digits do not have. Every
class of them looks alike when mirrored, so that flips in training do not mix classes. All numbers
are drawn up front as arrays over images, from streams that never change.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.kept import KeptDatasets
from anynet_study.data.packed.meta import Holdout
from anynet_study.data.packed.root import dataset_folder, publish, workspace
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.seeded import seeded_uniform
from anynet_study.data.splits import hold_out

LAYOUT = "built-in"
TEST_SHARE = 0.2
SEED = 0
#: Height and width of the images by formula, in pixels.
SIDE = 12


GRATING_CLASSES = tuple(
    f"{scale} {kind}" for kind in ("grating", "plaid") for scale in ("coarse", "medium", "fine")
)
BLOB_CLASSES = ("one", "two", "three", "four")

Floats = NDArray[np.float64]
#: The images, how the test split was held out, and what they are made from.
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
    return _drawn(gratings, GRATING_CLASSES, train=1200, test=700)


def _blobs() -> Built:
    return _drawn(blobs, BLOB_CLASSES, train=1200, test=700)


def _drawn(
    draw: Callable[[int, int], tuple[NDArray[np.uint8], NDArray[np.int64]]],
    classes: tuple[str, ...],
    train: int,
    test: int,
) -> Built:
    """The first `train` images of a procedural dataset are its training split."""
    images, labels = draw(train + test, SEED)
    examples = _examples("drawn", images, labels)
    return (Listing(LAYOUT, "", classes, examples[:train], examples[train:]), None, "formula")


def _examples(prefix: str, images: NDArray[np.uint8], labels: NDArray[np.integer]) -> list[Example]:
    return [
        Example(f"{prefix}/{number:05d}", int(label), pixels=image)
        for number, (image, label) in enumerate(zip(images, labels, strict=True))
    ]


def gratings(count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texture without shape: noisy sine gratings and plaids of three spatial frequencies.

    Orientation, phase, contrast, colour and noise are random and say nothing of the class.
    Returns images (count, 12, 12, 3) and labels (count,) into `GRATING_CLASSES`.
    """
    labels = np.arange(count) % len(GRATING_CLASSES)
    u = seeded_uniform((7, count), "gratings", seed)
    frequency = np.array([0.10, 0.17, 0.29])[labels % 3] * (0.75 + 0.5 * u[0])  # cycles a pixel
    first = np.pi * u[1]
    second = first + np.pi * (0.33 + 0.34 * u[2])
    wave = _wave(frequency, first, u[3])
    plaid = (wave + _wave(frequency, second, u[4])) / 2**0.5
    pattern = np.where((labels >= 3)[:, None, None], plaid, wave)
    contrast = 0.10 + 0.22 * u[5]
    colour = 0.5 + seeded_uniform((count, 3), "gratings colour", seed)
    image = _background(count, "gratings", seed) + (
        contrast[:, None, None, None] * pattern[..., None] * colour[:, None, None, :]
    )
    return _with_noise(image, 0.2, "gratings", seed), labels


def blobs(count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Counting: one to four soft bright spots at random places on a coloured, noisy ground.

    Returns images (count, 12, 12, 3) and labels (count,) into `BLOB_CLASSES`.
    """
    labels = np.arange(count) % len(BLOB_CLASSES)
    most = len(BLOB_CLASSES)
    u = seeded_uniform((4, count, most), "blobs", seed)
    x, y = 1.0 + (SIDE - 3) * u[:2]
    radius = 0.8 + 0.5 * u[2]
    strength = (0.35 + 0.3 * u[3]) * (np.arange(most) <= labels[:, None])
    rows, columns = np.mgrid[:SIDE, :SIDE]
    distance = (rows - y[..., None, None]) ** 2 + (columns - x[..., None, None]) ** 2
    spots = strength[..., None, None] * np.exp(-distance / (2 * radius[..., None, None] ** 2))
    light = np.clip(spots.sum(axis=1), 0, 0.6)
    image = _background(count, "blobs", seed) * 0.5 + light[..., None]
    return _with_noise(image, 0.4, "blobs", seed), labels


def _wave(frequency: Floats, angle: Floats, phase: Floats) -> Floats:
    """(n, 12, 12) sine waves in -1..1 of `frequency` in cycles a pixel, `phase` in cycles."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    along = (
        columns * np.cos(angle)[:, None, None] + rows * np.sin(angle)[:, None, None]
    ) * frequency[:, None, None]
    return np.asarray(np.sin(2 * np.pi * (along + phase[:, None, None])))


def _background(count: int, name: str, seed: int) -> Floats:
    """(n, 1, 1, 3) random colours around mid-grey."""
    return 0.35 + 0.3 * seeded_uniform((count, 1, 1, 3), name, "background", seed)


def _with_noise(image: Floats, amplitude: float, name: str, seed: int) -> NDArray[np.uint8]:
    """Bytes of `image`, in 0..1, with uniform noise of +-`amplitude` / 2 a channel."""
    noise = seeded_uniform(image.shape, name, "noise", seed) - 0.5
    return np.rint(255 * np.clip(image + amplitude * noise, 0, 1)).astype(np.uint8)


@dataclass(frozen=True)
class BuiltIn:
    """One dataset, as it is known before it is made."""

    make: Callable[[], Built]
    classes: int
    #: Height and width in pixels.
    size: int
    #: Whether a mirrored image is of the same class.
    flip: bool = True


BUILT_IN = {
    "digits": BuiltIn(_digits, 10, 8, flip=False),
    "gratings": BuiltIn(_gratings, len(GRATING_CLASSES), SIDE),
    "blobs": BuiltIn(_blobs, len(BLOB_CLASSES), SIDE),
}


def generate(name: str) -> PackedDataset:
    """Make the built-in dataset `name` and publish it; several processes wait for the first."""
    with workspace(name) as folder:
        if dataset_folder(name).exists():  # another process has made it meanwhile
            return PackedDataset.open(dataset_folder(name))
        _pack(name, folder / "packed")
        publish(folder / "packed", name)
    return PackedDataset.open(dataset_folder(name))


@contextmanager
def made_aside(names: Iterable[str]) -> Iterator[KeptDatasets]:
    """The built-in ones among `names` that are not packed yet, in a folder that goes at the end.

    For those who look and write nothing: `load_dataset` takes them with `kept`.
    """
    with TemporaryDirectory() as folder:
        for name in names:
            if name in BUILT_IN and not dataset_folder(name).exists():
                _pack(name, Path(folder) / name)
        yield KeptDatasets(Path(folder))


def _pack(name: str, folder: Path) -> None:
    from anynet_study.data.packing.packing import Origin, pack

    listing, holdout, source = BUILT_IN[name].make()
    pack(None, listing, Origin(name, source, holdout), BUILT_IN[name].size, folder)
