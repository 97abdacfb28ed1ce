"""Bootstrap resamples of a Spearman matrix a second, against loops over scipy and numpy.

    python -m benchmarks.bootstrap [RESAMPLES]        (default 100,000; about 15 s on 2 cores)

500 architectures x 15 datasets, errors with ties and no gaps; then 15,625 x 3 with a tenth of the
resamples. Both loops materialise each resample. One calls `scipy.stats.spearmanr` once on its 15
columns; the other is the best plain code: `scipy.stats.rankdata` on all columns at once, then
`numpy.corrcoef`. They run a few hundred resamples before and after ours, and their time is scaled.
A loop over scipy pair by pair would be about seven times slower still. Ours is with BCa intervals,
for which it also computes a jackknife. CPU seconds are of all threads: on a busy machine they say
more than the clock. Memory is the peak of the whole process.
"""

import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import stats

from anynet_study.analysis.apr.bootstrap import BLOCK, draw, pairwise, resample_correlations
from anynet_study.analysis.apr.options import Floats

LOOP_RESAMPLES = BLOCK


def clocks() -> Floats:
    """Seconds on the wall, and of CPU."""
    return np.array([time.perf_counter(), time.process_time()])


def spearmanr(resample: Floats) -> Floats:
    matrix = np.atleast_2d(stats.spearmanr(resample).statistic)
    return matrix[np.triu_indices(resample.shape[1], 1)]


def ranks_and_corrcoef(resample: Floats) -> Floats:
    matrix = np.corrcoef(stats.rankdata(resample, axis=0), rowvar=False)
    upper: Floats = matrix[np.triu_indices(resample.shape[1], 1)]
    return upper


LOOPS: dict[str, Callable[[Floats], Floats]] = {
    "loop over scipy": spearmanr,
    "loop over ranks": ranks_and_corrcoef,
}


def loop(values: Floats, function: Callable[[Floats], Floats], block: int) -> tuple[Floats, Floats]:
    """Seconds a resample (wall, CPU), and the correlations (pairs, resamples) of the block."""
    rows = np.arange(len(values))
    multiplicities = draw(len(values), LOOP_RESAMPLES, 0, block)
    began = clocks()
    found = [function(values[np.repeat(rows, counts)]) for counts in multiplicities]
    return (clocks() - began) / LOOP_RESAMPLES, np.transpose(found)


def measure(architectures: int, datasets: int, resamples: int) -> None:
    generator = np.random.default_rng(0)
    shared = generator.normal(size=(architectures, 1))
    values = np.round(30 + 5 * shared + 5 * generator.normal(size=(architectures, datasets)), 1)
    pairs = pairwise(values, [*combinations(range(datasets), 2)])
    before = {name: loop(values, function, 0) for name, function in LOOPS.items()}
    began = clocks()
    ours = resample_correlations(values, pairs, "spearman", resamples, seed=0)
    ours.interval(0.95)
    seconds = clocks() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{resamples:,} resamples of {architectures:,} x {datasets}, with BCa intervals")
    print(f"{'':16}{'wall':>10}{'CPU':>10}")
    print(f"{'anynet-study':16}{seconds[0]:8.1f} s{seconds[1]:8.1f} s   (peak {peak:.2f} GiB)")
    for name, function in LOOPS.items():
        scaled = (before[name][0] + loop(values, function, 1)[0]) / 2 * resamples
        wall, cpu = scaled / seconds
        times = f"{scaled[0]:8.1f} s{scaled[1]:8.1f} s   (scaled)"
        print(f"{name:16}{times}   ratio {wall:.1f} (wall), {cpu:.1f} (CPU)")
    truth = before["loop over scipy"][1]
    difference = np.abs(ours.draws[:, :LOOP_RESAMPLES] - truth).max()
    print(f"largest difference from scipy on the same resamples: {difference:.1e}")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    measure(500, 15, count)
    measure(15_625, 3, count // 10)
