"""How often the intervals of paper 1's further statistics hold the population's value.

    python benchmarks/coverage_paper1.py [STUDIES]        (default 400; about 3 minutes on 2 cores)

Nominal 95% intervals of simulated studies whose truth is known or had from a very large sample:
Fisher's of Spearman's rho; the partial rank correlation given two costs that go with the parameter;
the difference of the correlations with a source before and after a change; the correlation
corrected for training noise, 25 of 120 architectures trained twice. The standard error of a share
of 400 is about 1.1 points. `apr.selection_regret` gives ranges over halves instead: see there.
"""

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd

from anynet_study.apr import (
    agreement,
    corrected_correlations,
    correlations,
    stage_drivers,
)

RESAMPLES = 500
Generator = np.random.Generator
Ends = tuple[float, float, float]


def mixed(n: int, seed: int) -> pd.DataFrame:
    """Normal columns x, y and z that go together."""
    generator = np.random.default_rng(seed)
    covariance = [[1, 0.7, 0.4], [0.7, 1, 0.5], [0.4, 0.5, 1]]
    values = generator.multivariate_normal([0, 0, 0], covariance, n)
    return pd.DataFrame(values, columns=["x", "y", "z"]).rename_axis("architecture")


def fisher(n: int, seed: int, resamples: int) -> Ends:
    row = correlations(mixed(n, seed)[["x", "y"]], resamples=resamples).iloc[0]
    return row["estimate"], row["fisher_low"], row["fisher_high"]


def partial(n: int, seed: int, resamples: int) -> Ends:
    """Errors x against the parameter d1 = y, given flops = z and noise."""
    table = mixed(n, seed)
    generator = np.random.default_rng([seed, 1])
    columns = {"d1": table["y"], "flops": table["z"], "parameters": generator.normal(size=n)}
    population = pd.DataFrame(columns | {name: generator.normal(size=n) for name in ("w1", "b1")})
    population["g1"] = generator.normal(size=n)
    found = stage_drivers(table[["x"]], population, resamples=resamples).iloc[0]
    return found["partial"], found["partial_low"], found["partial_high"]


def difference(n: int, seed: int, resamples: int) -> Ends:
    """The correlation with the source z of y, after, less that of x, before."""
    table = mixed(n, seed)
    before, after = table[["z", "x"]], table[["y"]].set_axis(["x"], axis=1)
    row = agreement(before, after, "z", resamples=resamples).iloc[0]
    return tuple(row[f"source_difference{end}"] for end in ("", "_low", "_high"))


def corrected(n: int, seed: int, resamples: int) -> Ends:
    table, generator = mixed(n, seed)[["x", "y"]], np.random.default_rng([seed, 2])
    runs = [
        (table.iloc[:size] + 0.4 * generator.normal(size=(size, 2)))
        .reset_index()
        .melt("architecture", None, "dataset", "error")
        .assign(replicate=replicate)
        for replicate, size in enumerate((n, 25))
    ]
    row = corrected_correlations(pd.concat(runs), "pearson", resamples).iloc[0]
    return row["corrected"], row["corrected_low"], row["corrected_high"]


#: Statistic, and its true value; None: that of a very large sample.
STATISTICS: list[tuple[Callable[[int, int, int], Ends], float | None]] = [
    (fisher, 6 / np.pi * np.arcsin(0.7 / 2)),
    *((partial, None), (difference, None), (corrected, 0.7)),
]


def main(studies: int) -> None:
    print(f"{'interval':14}{'truth':>8}{'n = 40':>10}{'n = 120':>10}")
    for statistic, known in STATISTICS:
        truth = statistic(50_000, 10**6, 40)[0] if known is None else known
        line = f"{statistic.__name__:14}{truth:8.3f}"
        for n in (40, 120):
            ends = [statistic(n, seed, RESAMPLES)[1:] for seed in range(studies)]
            line += f"{100 * np.mean([low <= truth <= high for low, high in ends]):9.1f}%"
        print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
