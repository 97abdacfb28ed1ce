"""How often 95% intervals of Spearman's rho hold the population's value, by simulation.

    python -m benchmarks.coverage            (about 4 minutes on 2 cores)

Each row: a population, and for n = 16, 40 and 500 architectures the share of samples whose BCa
and plain percentile interval (1,000 resamples) holds the population's rho. The populations:
normal ones; "fanning", where the spread of one error grows with the other; "coarse", errors of
few distinct values. The last two rows are differences between the correlations of two correlated
proxies with one target. The standard error of a share of 2,000 samples is 0.5 points.
"""

import numpy as np
from scipy import stats

from anynet_study.apr.bootstrap import bca, pairwise, resample_correlations
from anynet_study.apr.options import Floats

SAMPLES = {16: 2000, 40: 2000, 500: 500}
RESAMPLES = 1000


def normal(rho: float, n: int, generator: np.random.Generator) -> Floats:
    return generator.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)


def fanning(rho: float, n: int, generator: np.random.Generator) -> Floats:
    x, noise = np.exp(generator.normal(size=n)), generator.normal(size=n)
    return np.column_stack([x, x + 2 * (1 / rho - 1) * x * noise])


def coarse(rho: float, n: int, generator: np.random.Generator) -> Floats:
    return np.round(2 * normal(rho, n, generator))


def proxies(rhos: tuple[float, float, float], n: int, generator: np.random.Generator) -> Floats:
    first, second, between = rhos
    covariance = [[1, between, first], [between, 1, second], [first, second, 1]]
    return generator.multivariate_normal([0, 0, 0], covariance, n)


POPULATIONS = [
    *((normal, rho) for rho in (0.0, 0.5, 0.9, 0.97)),
    *((fanning, 0.7), (coarse, 0.7)),
    *((proxies, (-0.4, 0.3, 0.2)), (proxies, (0.9, 0.95, 0.95))),
]


def truth(values: Floats) -> float:
    """rho of a pair, or of a triple the second proxy's less the first's."""
    target = values[:, -1]
    rhos = [stats.spearmanr(column, target).statistic for column in values.T[:-1]]
    return float(rhos[-1] - rhos[0] if len(rhos) > 1 else rhos[0])


def coverage(population, parameters, n: int, samples: int) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(n)
    target = truth(population(parameters, 1_000_000, generator))
    held = np.zeros((samples, 2), dtype=bool)
    for sample in range(samples):
        values = population(parameters, n, generator)
        last = values.shape[1] - 1
        pairs = pairwise(values, [(column, last) for column in range(last)])
        resampled = resample_correlations(values, pairs, "spearman", RESAMPLES, seed=sample)
        if last == 2:
            resampled = resampled[1:] - resampled[:1]
        low, high = bca(resampled.estimate, resampled.draws, resampled.jackknife, 0.95)
        plain = np.nanquantile(resampled.draws, [0.025, 0.975])
        held[sample] = low[0] <= target <= high[0], plain[0] <= target <= plain[1]
    return tuple(100 * held.mean(axis=0))


if __name__ == "__main__":
    print(f"{'population':34}" + "".join(f"   n={n:<4} BCa  pct" for n in SAMPLES))
    for population, parameters in POPULATIONS:
        line = f"{population.__name__ + ' ' + str(parameters):34}"
        for n, samples in SAMPLES.items():
            ours, plain = coverage(population, parameters, n, samples)
            line += f"        {ours:5.1f} {plain:4.1f}"
        print(line, flush=True)
