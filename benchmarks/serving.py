"""Batches of training images against a Pillow + DataLoader pipeline, in one interleaved run.

    python -m benchmarks.serving [--images N] [--rounds N] [--json]

All serve the same augmented, normalised batches of 128 (float32) of the same JPEG files, in a new
order every epoch: of 32 pixels with padded random crops and flips, as of CIFAR-10, and of 256
pixels with random crops of 224 and flips. "files" opens, decodes, crops, flips and normalises one
image at a time in torch's DataLoader with a worker a core, as most training scripts do; "array"
does so from the packed array, nothing to decode. "packed" is the feed and the bulk augmentation
of this package on the packed array, by one thread as in its workers; "jpeg" the same on files kept
as JPEG, decoded by a thread a core. An epoch comes before the first round. On a busy machine read
the CPU time. About two minutes on two cores.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import psutil
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from anynet_study.data import DatasetView, Variant, add_dataset, make_view
from anynet_study.design_space import Architecture
from anynet_study.engine.training import (
    DeviceImages,
    Preprocessor,
    Recipe,
    ResolvedRecipe,
    RunSpec,
)
from anynet_study.engine.training.augment import epoch_tables

BATCH = 128
CPU = torch.device("cpu")
NETWORK = Architecture((1, 1, 1, 1), (8, 8, 8, 8), (1, 1, 1, 1), (8, 8, 8, 8))
#: By side of the files, what is trained on.
RECIPES = {
    32: {"padding": 4, "flip": True},
    256: {"crop": "random", "resolution": 224, "flip": True},
}
Epoch = Callable[[], Iterator[Tensor]]


def write_files(folder: Path, images: int, side: int) -> None:
    """Smooth colours with some grain, in two classes."""
    random = np.random.default_rng(0)
    for number in range(images + 20):
        coarse = Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8))
        smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC))
        grain = random.integers(-12, 13, smooth.shape, np.int16)
        image = Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8))
        split = "train" if number < images else "test"
        path = folder / split / str(number % 2) / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, quality=90)


def read_file(path: Path) -> np.ndarray:
    with Image.open(path) as file:
        return np.array(file.convert("RGB"))


class OneByOne(Dataset[Tensor]):
    """One image at a time, from its file or from an array."""

    def __init__(
        self, images: Sequence[Path] | np.ndarray, view: DatasetView, recipe: ResolvedRecipe
    ) -> None:
        self.images, self.recipe = images, recipe
        self.mean = torch.tensor(view.mean, dtype=torch.float32)[:, None, None]
        self.std = torch.tensor(view.std, dtype=torch.float32)[:, None, None]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, place: int) -> Tensor:
        one = self.images[place]
        pixels = read_file(one) if isinstance(one, Path) else np.array(one)
        image = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
        image = F.pad((image - self.mean) / self.std, (self.recipe.padding,) * 4)
        side = self.recipe.resolution
        top, left = torch.randint(image.shape[1] - side + 1, (2,)).tolist()
        image = image[:, top : top + side, left : left + side]
        return image.flip(2) if torch.rand(()) < 0.5 else image


def loaded(images: Sequence[Path] | np.ndarray, view: DatasetView, recipe: ResolvedRecipe) -> Epoch:
    """By torch's DataLoader."""
    cores = len(os.sched_getaffinity(0))
    how = {"num_workers": cores, "persistent_workers": True, "shuffle": True, "drop_last": True}
    loader = DataLoader(OneByOne(images, view, recipe), BATCH, **how)  # type: ignore[arg-type]
    return lambda: iter(loader)


def in_bulk(view: DatasetView, recipe: ResolvedRecipe) -> Epoch:
    """As the fast engine does."""
    spec = RunSpec(NETWORK, view.identity, recipe)
    steps = len(view.train_index) // BATCH
    preprocess = Preprocessor(recipe, view.mean, view.std, CPU)
    feed = DeviceImages(CPU).feed(view, "train", steps, BATCH)
    numbers = iter(range(1_000_000))

    def epoch() -> Iterator[Tensor]:
        tables = epoch_tables(spec, len(view.train_index), view.size, next(numbers))
        feed.begin(tables.order)
        for step in range(steps):
            feed.advance(step)
            pixels, places = feed.batch(torch.tensor([step]))
            yield preprocess.train(pixels, places, tables.draws[step])

    return epoch


def cpu_seconds() -> float:
    """Of this process and its workers."""
    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def measure(epoch: Epoch, recipe: ResolvedRecipe) -> tuple[float, float]:
    """Images a second, and CPU milliseconds an image."""
    cpu, start, images = cpu_seconds(), time.perf_counter(), 0
    for batch in epoch():
        assert batch.shape == (BATCH, 3, recipe.resolution, recipe.resolution)
        images += len(batch)
    wall = time.perf_counter() - start
    return images / wall, 1e3 * (cpu_seconds() - cpu) / images


def compare(side: int, images: int, rounds: int) -> dict[str, dict[str, float]]:
    """By way the medians."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["ANYNET_DATA"] = f"{name}/data"
        write_files(Path(name) / "files", images, side)
        views = {
            store: make_view(
                add_dataset(store, Path(name) / "files", size=side, store=store),
                Variant(base=store),
            )
            for store in ("raw", "jpeg")
        }
        view = views["raw"]
        recipe = Recipe(epochs=1, batch_size=BATCH, **RECIPES[side]).resolved(side, 2)  # type: ignore[arg-type]
        files = sorted((Path(name) / "files" / "train").glob("*/*.jpg"))
        pixels = view.images("train")
        assert isinstance(pixels, np.ndarray)
        ways = {
            "files": loaded(files, view, recipe),
            "array": loaded(pixels, view, recipe),
            "packed": in_bulk(view, recipe),
            "jpeg": in_bulk(views["jpeg"], recipe),
        }
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for number in range(rounds + 1):
            for way, epoch in ways.items():
                print(f"{side} px, round {number} of {rounds}: {way}", file=sys.stderr)
                measured = measure(epoch, recipe)
                if number:
                    found[way].append(measured)
    return {
        way: {
            "images_a_second": median(one for one, _ in all_),
            "cpu_ms": median(one for _, one in all_),
        }
        for way, all_ in found.items()
    }


def show(side: int, found: dict[str, dict[str, float]]) -> None:
    theirs = found["files"]
    print(f"\n{side} px     images a second  CPU ms an image   times files: images a second, CPU")
    for way, one in found.items():
        faster = one["images_a_second"] / theirs["images_a_second"]
        cheaper = theirs["cpu_ms"] / one["cpu_ms"]
        print(
            f"{way:9} {one['images_a_second']:15,.0f} {one['cpu_ms']:16.3f}"
            f"   {faster:.1f}, {cheaper:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5120, help="of 32 px; of 256 px a fifth")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    shares = {32: options.images, 256: max(BATCH, options.images // 5)}
    found = {side: compare(side, images, options.rounds) for side, images in shares.items()}
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for side, one in found.items():
        show(side, one)


if __name__ == "__main__":
    main()
