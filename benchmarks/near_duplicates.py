"""The search for near duplicates among 60,000 x 60,000 images: seconds, and memory at its most.

    python -m benchmarks.near_duplicates [--images N] [--json]

The images are smooth colours of 32 x 32 pixels, of which a hundred are planted in the other set at
half the contrast: all of them must be found. Bound: two minutes on two cores, and 2 GB. CPU seconds
are those of all threads: on a busy machine read these.
"""

import argparse
import json
import resource
import time

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anynet_study.data.curation import find_near_duplicates

PLANTED = 100


def smooth(count: int, seed: int) -> NDArray[np.uint8]:
    """(count, 32, 32, 3): coarse squares of random colours, scaled up."""
    generator = np.random.default_rng(seed)
    images = np.empty((count, 32, 32, 3), np.uint8)
    for place, coarse in enumerate(generator.integers(0, 256, (count, 8, 8, 3), np.uint8)):
        resized = Image.fromarray(coarse).resize((32, 32), Image.Resampling.BICUBIC)
        images[place] = np.asarray(resized)
    return images


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ours, theirs = smooth(options.images, 0), smooth(options.images, 1)
    ours[:PLANTED] = 64 + theirs[-PLANTED:] // 2
    start, cpu = time.perf_counter(), time.process_time()
    pairs = find_near_duplicates(ours, theirs)
    told = {
        "images": options.images,
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "planted": PLANTED,
        "found": int((pairs["reference"] - pairs["image"] == options.images - PLANTED).sum()),
        "others": int((pairs["reference"] - pairs["image"] != options.images - PLANTED).sum()),
    }
    print(json.dumps(told) if options.json else "\n".join(f"{k}: {v}" for k, v in told.items()))


if __name__ == "__main__":
    main()
