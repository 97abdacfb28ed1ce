"""How fast images of ImageNet's size get from each store to the device."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import torch
from PIL import Image

from anynet_study.data import Decoders, JpegImages, add_dataset
from anynet_study.engine.planning.memory import MOST
from anynet_study.engine.training.feeds import BatchStream, StreamedFeed
from benchmarks.serving import BATCH
from benchmarks.training.task import data_in

from .parts import Row, Setup, wait

#: Images that the paper's study reads of ImageNet: 10 epochs for each cohort of its 500 networks.
IMAGENET_READ = -(-500 // MOST) * 10 * 1_281_167
#: Side of the images that are fed: ImageNet's, as they are packed for crops of 224.
PHOTO = 256


def feeds(setup: Setup) -> Iterator[Row]:
    """Images of 256 pixels from each store to the device, for one process; from memory, not disk.

    Photos, as ImageNet's are packed. In a run for a GPU processes decode, for a CPU threads.
    """
    images = 2 * BATCH if setup.quick else 20 * BATCH
    write_photos(setup.folder / "files", images)
    with data_in(str(setup.folder / "data")):
        raw, jpeg = (
            add_dataset(store, setup.folder / "files", size=PHOTO, store=store).images("train")
            for store in ("raw", "jpeg")
        )
    assert isinstance(jpeg, JpegImages)
    yield Row("kB of a JPEG file", round(sum(map(len, jpeg.files())) / len(jpeg) / 1e3, 1))
    for store, kept, decoders in (
        ("raw", raw, None),
        ("jpeg, by threads", jpeg, None),
        ("jpeg, by processes", jpeg, Decoders(jpeg)),
    ):
        rate, cpu = _fed(BatchStream(kept, setup.on_gpu, decoders), images, setup.device)
        yield Row(f"images a second, {store}", round(rate))
        yield Row("CPU of the process that trains, us an image", round(cpu))
        days = IMAGENET_READ / rate / 86_400
        yield Row(f"days to read the paper's ImageNet, {store}", round(days, 1))


def write_photos(folder: Path, images: int) -> None:
    """Cut squares from the two photos that scikit-learn has, in two classes, and 20 to test on.

    The JPEG store keeps them as they are: of the size and quality of those that it makes itself.
    """
    from sklearn.datasets import load_sample_images

    photos = [Image.fromarray(pixels) for pixels in load_sample_images().images]
    random = np.random.default_rng(0)
    for number in range(images + 20):
        photo = photos[number % 2]
        side = int(random.integers(PHOTO, min(photo.size) + 1))
        left, top = (int(random.integers(length - side + 1)) for length in photo.size)
        square = photo.resize((PHOTO, PHOTO), box=(left, top, left + side, top + side))
        split = "train" if number < images else "test"
        path = folder / split / str(number % 2) / f"{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        square.save(path, quality=95)


def _fed(stream: BatchStream, images: int, device: torch.device) -> tuple[float, float]:
    """Images a second, and CPU microseconds of this process an image: medians of three epochs."""
    feed = StreamedFeed(stream, BATCH, device, np.arange(images))
    steps, random, found = images // BATCH, np.random.default_rng(0), []
    for _ in range(4):
        order = random.permutation(images)[: steps * BATCH]
        began, cpu = time.perf_counter(), time.process_time()
        feed.begin(torch.from_numpy(order).view(steps, BATCH))
        for step in range(steps):
            feed.advance(step)
        wait(device)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        found.append((len(order) / wall, 1e6 * cpu / len(order)))
    rates, costs = zip(*found[1:], strict=True)  # in the first, files are read from the disk
    return median(rates), median(costs)
