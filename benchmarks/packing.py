"""Packing a dataset against the decoder alone, and against a DataLoader that fills an array.

    python -m benchmarks.packing [--images N] [--size PX] [--rounds N] [--json]

All make squares of SIZE pixels of the same JPEG files of 500 x 375 pixels, with as many processes
as there are cores. "decoder": processes that decode and fit their share with the decoder of this
package and forget the result. "DataLoader": torch's, one image at a time as its users would write
it (open, convert, resize, crop), batches of 256 written to a memory-mapped array. "packing":
`add_dataset`, which also hashes, sums, checks, writes labels and a manifest and waits for the disk.

The ways take turns (`benchmarks.turns`). Each has all files and then a quarter of them: the
difference is what further images cost, without start-up. CPU seconds are those of all processes:
on a busy machine read these. About three minutes on two cores.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

from benchmarks.turns import take_turns

WAYS = ("decoder", "DataLoader", "packing")
WIDTH, HEIGHT = 500, 375
BATCH = 256
#: Seconds: a quarter of the files takes two.
TURN = 0.3


def write_photos(folder: Path, count: int) -> None:
    """Photographs as far as a decoder can tell: smooth colours, some grain, about 70 kB each."""
    random = np.random.default_rng(0)
    for number in range(count):
        coarse = Image.fromarray(random.integers(0, 256, (24, 32, 3), np.uint8))
        smooth = np.asarray(coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
        grain = random.integers(-12, 13, smooth.shape, np.int16)
        image = Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8))
        path = folder / f"class{number % 2}" / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, quality=90)


def made_in(photos: Path) -> Path:
    """Where what is made of a folder of photos goes."""
    made = photos.parent / "made"
    made.mkdir(exist_ok=True)
    return made


def decode_share(files: Sequence[Path], size: int) -> None:
    """The work of one process of "decoder"."""
    from anynet_study.data import decode_image

    for file in files:
        decode_image(file.read_bytes(), size)


def run_decoder(folder: Path, size: int) -> None:
    files, cores = sorted(folder.glob("*/*.jpg")), len(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=decode_share, args=(files[first::cores], size))
        for first in range(cores)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


class Photos:
    """A dataset as torch's DataLoader wants it."""

    def __init__(self, files: Sequence[Path], size: int) -> None:
        self.files, self.size = files, size

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, place: int) -> np.ndarray:
        image = Image.open(self.files[place]).convert("RGB")
        scale = self.size / min(image.size)
        width, height = (round(side * scale) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BILINEAR)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        return np.asarray(image.crop((left, top, left + self.size, top + self.size)))


def run_loader(folder: Path, size: int) -> None:
    from torch.utils.data import DataLoader

    files = sorted(folder.glob("*/*.jpg"))
    shape = (len(files), size, size, 3)
    array = np.lib.format.open_memmap(made_in(folder) / "images.npy", "w+", np.uint8, shape)
    cores = len(os.sched_getaffinity(0))
    loader = DataLoader(Photos(files, size), BATCH, num_workers=cores)  # type: ignore[arg-type,var-annotated]
    done = 0
    for batch in loader:
        array[done : done + len(batch)] = batch.numpy()
        done += len(batch)
    array.flush()


def run_packing(folder: Path, size: int) -> None:
    from anynet_study.data import add_dataset

    os.environ["ANYNET_DATA"] = str(made_in(folder))
    add_dataset("photos", folder, size=size, workers=len(os.sched_getaffinity(0)))


RUN = {"decoder": run_decoder, "DataLoader": run_loader, "packing": run_packing}


@dataclass(frozen=True)
class Measured:
    """Seconds."""

    wall: float
    cpu: float


def measure(folder: Path, size: int) -> dict[str, Measured]:
    """Every way, in turns."""
    turns = take_turns({way: partial(start, way, folder, size) for way in WAYS}, TURN)
    if failed := [way for way, its in turns.items() if its.status]:
        raise SystemExit(f"failed: {', '.join(failed)}")
    shutil.rmtree(made_in(folder))  # half a gigabyte takes a tenth of a second to remove
    return {way: Measured(its.until(), its.cpu) for way, its in turns.items()}


def start(way: str, folder: Path, size: int) -> "list[subprocess.Popen[bytes]]":
    """Begin `way` in processes of its own."""
    command = [sys.executable, "-m", "benchmarks.packing", "--run", way, str(folder), str(size)]
    return [subprocess.Popen(command, stderr=subprocess.DEVNULL)]


def compare(images: int, size: int, rounds: int) -> dict[str, dict[str, float]]:
    """By way: milliseconds of CPU a further image, further images a second."""
    few = images // 4
    found: dict[str, list[tuple[Measured, Measured]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / f"{count}" / "photos" for count in (images, few)]
        for folder, count in zip(folders, (images, few), strict=True):
            write_photos(folder, count)
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            many, less = (measure(folder, size) for folder in folders)
            for way in WAYS:
                found[way].append((many[way], less[way]))
    return {
        way: {
            "cpu_ms": 1e3 * median(many.cpu - less.cpu for many, less in pairs) / (images - few),
            "images_a_second": (images - few)
            / median(many.wall - less.wall for many, less in pairs),
        }
        for way, pairs in found.items()
    }


def show(found: dict[str, dict[str, float]], images: int, size: int) -> None:
    print(f"{images} JPEG files of {WIDTH} x {HEIGHT} to {size} x {size} pixels")
    print(f"{'':12} {'CPU ms an image':>16} {'images a second':>16}   packing / this: CPU, wall")
    ours = found["packing"]
    for way, one in found.items():
        cpu = one["cpu_ms"] / ours["cpu_ms"]
        wall = ours["images_a_second"] / one["images_a_second"]
        print(
            f"{way:12} {one['cpu_ms']:16.2f} {one['images_a_second']:16.0f}   {cpu:.2f}, {wall:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        way, folder, size = options.run
        RUN[way](Path(folder), int(size))
        return
    found = compare(options.images, options.size, options.rounds)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        show(found, options.images, options.size)


if __name__ == "__main__":
    main()
