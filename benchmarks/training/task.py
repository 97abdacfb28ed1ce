"""What all ways of training are given: one sweep, one population, one dataset, one plan."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from numpy.typing import NDArray

from anynet_study.data import Example, Listing, Origin, dataset_folder, pack, publish, workspace
from anynet_study.engine.dispatch import OpenStudy, open_sweep

CLASSES = 10
#: Of the paper's sweep: multiply-adds at 224 px and 1000 classes.
BAND = (360e6, 400e6)
COARSE = 4


@dataclass(frozen=True)
class Task:
    """Runs of the paper's band on one dataset."""

    #: Holds the sweep file, and the data where they are made here.
    folder: Path
    device: Literal["cpu", "cuda"]
    runs: int
    epochs: int
    #: Steps of an epoch.
    steps: int
    side: int = 32
    batch: int = 128
    test_images: int = 300
    #: A packed dataset of `$ANYNET_DATA`; None: one is made, in the shape of CIFAR-10.
    dataset: str | None = None
    #: Keys of the recipe in the place of those below.
    recipe: Mapping[str, object] = field(default_factory=dict)

    @property
    def sweep_file(self) -> Path:
        return self.folder / "sweep.yaml"

    @property
    def images(self) -> int:
        """Training images, a whole number of each class."""
        return -(-self.steps * self.batch // CLASSES) * CLASSES

    def environment(self) -> dict[str, str]:
        """Of all processes that work at it; torch finds its number of threads by itself."""
        kept = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        data = os.environ.get("ANYNET_DATA", "data") if self.dataset else self.folder / "data"
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if self.device == "cpu" else {}
        return kept | {"ANYNET_DATA": str(Path(data).resolve())} | hidden

    @contextmanager
    def data(self) -> Iterator[None]:
        """In this block, the data directory is the task's."""
        with data_in(self.environment()["ANYNET_DATA"]):
            yield

    def opened(self, *overrides: str) -> OpenStudy:
        """The task's sweep, its data and the runs planned."""
        with self.data():
            return open_sweep(self.sweep_file, overrides)

    def prepare(self) -> None:
        """Write the sweep file, and the dataset if there is none."""
        self.folder.mkdir(parents=True)
        self.sweep_file.write_text(yaml.safe_dump(self._sweep()))
        if self.dataset is None:
            with self.data():
                make_dataset("made", self.images, self.test_images, self.side)

    def _sweep(self) -> dict[str, object]:
        base = self.dataset or "made"
        return {
            "name": "training-benchmark",
            "population": {"flops": list(BAND), "count": self.runs, "seed": 0},
            "source": "images",
            "datasets": {
                "images": {"base": base, "per_class": self.images // CLASSES},
                # A study has a target; this one is not trained.
                "unused": {"base": base, "classes": 2, "role": "target"},
            },
            "recipes": {
                "basic": {
                    "epochs": self.epochs,
                    "batch_size": self.batch,
                    "lr": 0.02,  # gentle: rounding grows slowly in so few steps
                    "padding": self.side // 8,
                    "datasets": ["images"],
                    **self.recipe,
                }
            },
        }


@contextmanager
def data_in(folder: str) -> Iterator[None]:
    """In this block, `folder` is the data directory."""
    before = os.environ.get("ANYNET_DATA")
    os.environ["ANYNET_DATA"] = folder
    try:
        yield
    finally:
        del os.environ["ANYNET_DATA"]
        os.environ.update({} if before is None else {"ANYNET_DATA": before})


def make_dataset(name: str, train: int, test: int, side: int) -> None:
    """Pack images drawn by formula: a few noisy colour fields a class, alike when mirrored."""
    to_train, to_test = _examples(train, side, seed=0), _examples(test, side, seed=1)
    classes = tuple(f"class {label}" for label in range(CLASSES))
    with workspace(name) as folder:
        listing = Listing("formula", "", classes, to_train, to_test)
        pack(None, listing, Origin(name, "formula"), side, folder / "packed", workers=1)
        publish(folder / "packed", name)
    assert dataset_folder(name).is_dir()


def _examples(count: int, side: int, seed: int) -> list[Example]:
    fields = np.random.default_rng(0).uniform(size=(CLASSES, COARSE, COARSE, 3))
    fields = (fields + fields[:, :, ::-1]) / 2
    return [
        Example(
            f"{seed}/{number:06d}",
            number % CLASSES,
            pixels=_image(fields[number % CLASSES], side, np.random.default_rng((seed, number))),
        )
        for number in range(count)
    ]


def _image(
    field: NDArray[np.float64], side: int, generator: np.random.Generator
) -> NDArray[np.uint8]:
    """(side, side, 3): the field of its class under noise as coarse and finer."""
    zoom = -(-side // COARSE)
    coarse = (1.2 * field + 0.4 * generator.uniform(size=field.shape)) * (255 / 2)
    wide = np.repeat(np.repeat(np.rint(coarse).astype(np.uint8), zoom, 0), zoom, 1)[:side, :side]
    return wide + generator.integers(0, 52, wide.shape, dtype=np.uint8)
