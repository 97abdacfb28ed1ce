"""Bootstrap resamples of a Spearman matrix a second, against a loop over scipy.

    python benchmarks/bootstrap.py [RESAMPLES]        (default 100,000; about 15 s on 2 cores)

500 architectures x 15 datasets, errors with ties and no gaps. The loop materialises each resample
and calls `scipy.stats.spearmanr` on it; it runs a few hundred resamples before and after ours, and
its time is scaled. CPU seconds are of all threads: on a busy machine they say more than the clock.
Memory is the peak of the whole process.
"""

import resource
import sys
import time
from itertools import combinations

import numpy as np
from scipy import stats

from anynet_study.apr.bootstrap import BLOCK, Resampler, draw
from anynet_study.apr.pairs import pairwise
from anynet_study.apr.ranks import Floats

ARCHITECTURES, DATASETS = 500, 15
LOOP_RESAMPLES = BLOCK


def clocks() -> Floats:
    """Seconds on the wall, and of CPU."""
    return np.array([time.perf_counter(), time.process_time()])


def scipy_loop(values: Floats, block: int) -> tuple[Floats, Floats]:
    """Seconds a resample (wall, CPU), and the correlations (pairs, resamples) of the block."""
    multiplicities = draw(len(values), LOOP_RESAMPLES, 0, block)
    upper = np.triu_indices(DATASETS, 1)
    began = clocks()
    matrices = [
        stats.spearmanr(values[np.repeat(np.arange(len(values)), counts)]).statistic[upper]
        for counts in multiplicities
    ]
    return (clocks() - began) / LOOP_RESAMPLES, np.transpose(matrices)


def main(resamples: int) -> None:
    generator = np.random.default_rng(0)
    shared = generator.normal(size=(ARCHITECTURES, 1))
    values = np.round(30 + 5 * shared + 5 * generator.normal(size=(ARCHITECTURES, DATASETS)), 1)
    pairs = pairwise(values, [*combinations(range(DATASETS), 2)])
    before, truth = scipy_loop(values, block=0)
    began = clocks()
    ours = Resampler(values, pairs).resampled(resamples, seed=0)
    ours.interval(0.95)
    seconds = clocks() - began
    after, _ = scipy_loop(values, block=1)
    loop = (before + after) / 2 * resamples
    difference = np.abs(ours.draws[:, :LOOP_RESAMPLES] - truth).max()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{resamples:,} resamples of {ARCHITECTURES} x {DATASETS}, with BCa intervals")
    print(f"{'':16}{'wall':>10}{'CPU':>10}")
    print(f"{'loop over scipy':16}{loop[0]:8.1f} s{loop[1]:8.1f} s   (scaled)")
    print(
        f"{'anynet-study':16}{seconds[0]:8.1f} s{seconds[1]:8.1f} s   (peak memory {peak:.2f} GiB)"
    )
    print(f"{'ratio':16}{loop[0] / seconds[0]:8.1f} x{loop[1] / seconds[1]:8.1f} x")
    print(f"largest difference between the two on the same resamples: {difference:.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
