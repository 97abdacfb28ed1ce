"""How often 95% intervals of a linear fit hold the population's values, by simulation.

    python -m benchmarks.fit_coverage          (about 2 minutes)

Each row: a population of points, and for n = 6 to 200 points the share of 1,000 samples
whose intervals hold the population's slope and R squared, and the line at the
mean of x. "even": scatter of one size; "fanning": scatter that grows with x; "weak": R squared 0.2;
"skewed": x is exponential; "heavy": scatter of Student's t with 3 degrees of freedom. The standard
error of a share is 0.7 points.
"""

import numpy as np

from anynet_study.analysis.apr import linear_fit
from anynet_study.analysis.apr.options import Floats

SIZES = (6, 10, 20, 40, 200)
SAMPLES = 1000


def even(n: int, generator: np.random.Generator) -> Floats:
    x = generator.normal(70, 6, n)
    return np.array([x, 1.1 * x - 20 + generator.normal(0, 2, n)])


def fanning(n: int, generator: np.random.Generator) -> Floats:
    x = generator.normal(70, 6, n)
    return np.array([x, 1.1 * x - 20 + generator.normal(0, 1, n) * np.exp((x - 70) / 12)])


def weak(n: int, generator: np.random.Generator) -> Floats:
    x = generator.normal(70, 6, n)
    return np.array([x, 0.5 * x + generator.normal(0, 6, n)])


def skewed(n: int, generator: np.random.Generator) -> Floats:
    x = 65 + generator.exponential(5, n)
    return np.array([x, 1.1 * x - 20 + generator.normal(0, 2, n)])


def heavy(n: int, generator: np.random.Generator) -> Floats:
    x = generator.normal(70, 6, n)
    return np.array([x, 1.1 * x - 20 + 2 * generator.standard_t(3, n)])


def coverage(population, n: int) -> tuple[float, ...]:  # type: ignore[no-untyped-def]
    x, y = population(2_000_000, np.random.default_rng(0))
    slope, intercept = np.polyfit(x, y, 1)
    truth = slope, np.corrcoef(x, y)[0, 1] ** 2, intercept + slope * 70
    generator = np.random.default_rng(n)
    held = np.zeros((SAMPLES, 3), dtype=bool)
    for sample in range(SAMPLES):
        x, y = population(n, generator)
        fit = linear_fit(x, y)
        low, high = fit.region([70.0])[["low", "high"]].iloc[0]
        ends = (fit.slope_low, fit.slope_high), (fit.r2_low, fit.r2_high), (low, high)
        held[sample] = [end[0] <= value <= end[1] for value, end in zip(truth, ends, strict=True)]
    return tuple(100 * held.mean(axis=0))


if __name__ == "__main__":
    print("slope, R squared, line at 70" + "".join(f"   n={n:<13}" for n in SIZES))
    for population in (even, fanning, weak, skewed, heavy):
        line = f"{population.__name__:28}"
        for n in SIZES:
            shares = coverage(population, n)
            line += "   " + " ".join(f"{share:4.1f}" for share in shares) + "  "
        print(line, flush=True)
