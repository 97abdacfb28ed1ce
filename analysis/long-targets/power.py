"""How often the study would say yes, no and undecided, by what is true: simulated studies.

    python analysis/long-targets/power.py [STUDIES]

Architectures have true scores on two proxies, and on targets trained short and long, normal and of
the stated worths; targets of one length share a part of what the proxies do not explain. Errors are
true scores with noise of the stated reliability; the functions that judge are those of the study.
"""

import sys

import lengths
import numpy as np
import pandas as pd
from lengths import LONG, OF_A_TENTH, PROXIES, RECIPES, SHORT

ARCHITECTURES, TWICE, RESAMPLES = 60, 30, 1_000
#: Of the two proxies: their true correlation, and the reliability of their runs, as measured in the
#: second study.
BETWEEN, OF_PROXIES = 0.76, {SHORT: 0.87, LONG: 0.90}
#: What targets of a length have in common beyond the proxies, as a correlation.
IN_COMMON = 0.5
#: Worths of the short and the long proxy for targets trained short: as measured, freed of both
#: sides' noise; and those that may be true for targets trained long.
SHORT_TARGETS = (0.92, 0.61)
TRUTHS = {
    "the same gain": SHORT_TARGETS,
    "half of the gain": (0.85, 0.69),
    "no gain": (0.77, 0.77),
    "equal length is better": (0.61, 0.92),
}
#: Of a single run on a target trained short, and trained long.
RELIABILITIES = {SHORT: 0.8, LONG: 0.7}


def study(
    draw: np.random.Generator, long_worths: tuple[float, float], targets: int
) -> lengths.Data:
    """A simulated study of some of the targets."""
    runs = study_runs(draw, long_worths, targets)
    depth = pd.Series(draw.normal(size=ARCHITECTURES))
    return lengths.data_of(runs, depth, lengths.TARGETS[:targets])


def study_runs(
    draw: np.random.Generator, long_worths: tuple[float, float], targets: int, noise: float = 1.0
) -> pd.DataFrame:
    """Its runs: architecture, dataset, recipe, replicate, error; `noise` times the usual one."""
    together = np.linalg.cholesky([[1, BETWEEN], [BETWEEN, 1]])
    true = dict(zip((SHORT, LONG), together @ draw.normal(size=(2, ARCHITECTURES)), strict=True))
    runs = []
    for proxies in (PROXIES, OF_A_TENTH):
        for length, name in proxies.items():
            variance = noise * (1 / OF_PROXIES[length] - 1)
            runs += trained(draw, true[length], variance, name, RECIPES[SHORT])
    for length, worth in ((SHORT, SHORT_TARGETS), (LONG, long_worths)):
        parts = np.linalg.solve([[1, BETWEEN], [BETWEEN, 1]], worth)
        left = 1 - parts @ worth
        common = draw.normal(size=ARCHITECTURES)
        for name in lengths.TARGETS[:targets]:
            own = draw.normal(size=ARCHITECTURES)
            rest = np.sqrt(IN_COMMON) * common + np.sqrt(1 - IN_COMMON) * own
            score = parts[0] * true[SHORT] + parts[1] * true[LONG] + np.sqrt(left) * rest
            variance = noise * (1 / RELIABILITIES[length] - 1)
            runs += trained(draw, score, variance, name, RECIPES[length])
    return pd.concat(runs, ignore_index=True)


def trained(
    draw: np.random.Generator, score: np.ndarray, variance: float, dataset: str, recipe: str
) -> list[pd.DataFrame]:
    """Runs of architectures with these true scores, with noise: of all, and a second of some."""
    return [
        pd.DataFrame(
            {
                "architecture": np.arange(count),
                "dataset": dataset,
                "recipe": recipe,
                "replicate": replicate,
                "error": 50 + 5 * (score[:count] + np.sqrt(variance) * draw.normal(size=count)),
            }
        )
        for replicate, count in enumerate((ARCHITECTURES, TWICE))
    ]


def main(studies: int = 40) -> None:
    lengths.RESAMPLES = RESAMPLES
    for targets in (6, 4):
        for number, (truth, worth) in enumerate(TRUTHS.items()):
            draw = np.random.default_rng([targets, number])
            simulated = (study(draw, worth, targets) for _ in range(studies))
            table = pd.concat(lengths.judged(lengths.worths(data)) for data in simulated)
            counts = table.groupby(["question", "answer"]).size().unstack(fill_value=0)
            shares = (100 * counts / studies).round().astype(int)
            print(f"\n{targets} targets, {truth}: {worth}, in percent of {studies} studies")
            print(shares.reindex(["smaller", "still", "equal"]).to_string(), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
