"""The matrix of distances between 8 sets of 5,000 images: seconds, and memory at its most.

    python -m benchmarks.distances [--sets N] [--images N] [--features N] [--json]

Images of 32 x 32 pixels become the 192 low frequencies that need no network; with --features random
ones of that number are compared instead, such as the 512 of a network. FID, KID and energy distance
of every pair, each with its jackknife. Bound: five minutes. CPU seconds are those of all threads.
"""

import argparse
import json
import resource
import time

import numpy as np

from anynet_study.data.curation import distance_table, equal_samples, features_of
from anynet_study.engine.study_networks import open_extractor
from benchmarks.near_duplicates import smooth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sets", type=int, default=8)
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--features", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    images = {f"set {n}": smooth(options.images, n) for n in range(options.sets)}
    start, cpu = time.perf_counter(), time.process_time()
    rows = equal_samples({name: len(pixels) for name, pixels in images.items()})
    if options.features:
        generator = np.random.default_rng(0)
        shape = (options.images, options.features)
        made = {name: generator.normal(size=shape).astype(np.float32) for name in images}
    else:
        extract = open_extractor("frequencies")
        made = {name: features_of(images[name], rows[name], extract, name) for name in images}
    table = distance_table(made)
    told = {
        "pairs": len(table),
        "features": next(iter(made.values())).shape[1],
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "largest_fid_without_bias": round(float(table["fid_corrected"].abs().max()), 3),
    }
    print(json.dumps(told) if options.json else "\n".join(f"{k}: {v}" for k, v in told.items()))


if __name__ == "__main__":
    main()
