"""How often intervals of tables hold the truth, and their tests are wrong, by simulation.

Sentences have worlds of their own, beside the analyses that say them: `benchmarks/sentences.py`.

    python -m benchmarks.coverage                (30 minutes of CPU, half on two cores)
    python -m benchmarks.coverage --studies 40   (a first impression)

A row: what is asked of which population, and the share of simulated studies in which the interval
held the truth (nominally 95%), or in which one conclusion of a family or more was wrong (nominally
at most 5%), in percent, with the exact 95% interval of that share. A row is *outside* where this
whole interval is: beyond 93 to 97 (90 to 98 of 14 architectures or fewer), or above 5. Of a hundred
rows that are right, one or two are told to be outside by chance. Where the data leave an end of an
interval open, as where noise may be all there is, none is printed: "none" is the share of these,
and the other share is that of the rest.

Populations are normal but where the row says otherwise: "fanning", where the spread of one error
grows with the other; "coarse", errors of few distinct values; "skewed", lognormal effects;
"guesses", where 2% of the runs guess. Truths are by formula, or of a million architectures.
"""

import argparse
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
from scipy import special, stats

from anynet_study import apr
from anynet_study.analysis.apr.bootstrap import pairwise, resample_correlations
from anynet_study.analysis.apr.correlations import p_values
from anynet_study.analysis.apr.options import Floats
from anynet_study.analysis.apr.simultaneous import can_be_largest, simultaneous
from anynet_study.core.metrics import auroc_interval, binomial_interval, error_interval

RESAMPLES = 1000
#: What rows of few architectures are called.
FEW = re.compile(r"(n = |, )(6|14)\b")
Generator = np.random.Generator
#: Simulates one study: whether its interval held, or a conclusion was wrong; None: no interval.
Study = Callable[[Generator, int], bool | None]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    population: str
    study: Study
    #: Whether a True is a wrong conclusion, and not an interval that held.
    wrong: bool = False


def held(low: float, truth: float, high: float) -> bool | None:
    """Whether an interval holds the truth; None of no interval."""
    return None if np.isnan(low) else bool(low <= truth <= high)


def spearman(r: float) -> float:
    """Spearman's rho of normal errors that correlate by r."""
    return float(6 / np.pi * np.arcsin(r / 2))


def normal(r: float, n: int, draw: Generator) -> Floats:
    return draw.multivariate_normal([0, 0], [[1, r], [r, 1]], n)


def fanning(_: float, n: int, draw: Generator) -> Floats:
    x, noise = np.exp(draw.normal(size=n)), draw.normal(size=n)
    return np.column_stack([x, x + 0.857 * x * noise])


def coarse(r: float, n: int, draw: Generator) -> Floats:
    return np.round(2 * normal(r, n, draw))


def guesses(r: float, n: int, draw: Generator) -> Floats:
    values = normal(r, n, draw)
    return np.where(draw.random((n, 1)) < 0.02, 8.0, values)


def of_rho(population: Callable[..., Floats], r: float, n: int) -> Study:
    @cache
    def truth() -> float:
        many = population(r, 1_000_000, np.random.default_rng(0))
        return float(stats.spearmanr(*many.T).statistic)

    def study(draw: Generator, seed: int) -> bool | None:
        values = population(r, n, draw)
        found = resample_correlations(
            values, pairwise(values, [(0, 1)]), "spearman", RESAMPLES, seed
        )
        [low], [high] = found.interval(0.95)
        return held(low, truth(), high)

    return study


def of_difference(rhos: tuple[float, float, float], n: int) -> Study:
    """Of the correlations of two proxies, which correlate by the last, with one target."""
    first, second, between = rhos
    covariance = [[1, between, first], [between, 1, second], [first, second, 1]]
    truth = spearman(second) - spearman(first)

    def study(draw: Generator, seed: int) -> bool | None:
        values = draw.multivariate_normal([0, 0, 0], covariance, n)
        pairs = pairwise(values, [(0, 2), (1, 2)])
        found = resample_correlations(values, pairs, "spearman", RESAMPLES, seed)
        [low], [high] = (found[1:] - found[:1]).interval(0.95)
        return held(low, truth, high)

    return study


def equals(n: int, proxies: int, chosen: bool) -> Study:
    """Equally good proxies: does the interval of the chosen hold, or is one told not the best?"""
    truth = spearman(0.6)

    def study(draw: Generator, seed: int) -> bool | None:
        quality = draw.normal(size=n)
        values = np.sqrt(0.6) * quality[:, None] + np.sqrt(0.4) * draw.normal(size=(n, proxies + 1))
        pairs = pairwise(values, [(proxy, proxies) for proxy in range(proxies)])
        found = resample_correlations(values, pairs, "spearman", RESAMPLES, seed)
        if not chosen:
            return not can_be_largest(found, 0.95).all()
        low, high = simultaneous(found, 0.95)
        best = int(np.argmax(found.estimate))
        return held(low[best], truth, high[best])

    return study


def among_the_best(population: Callable[..., Floats], r: float, n: int, what: str) -> Study:
    """rho over the quarter that is best on the proxy; or which of the best tenth are among its."""

    @cache
    def truth() -> float:
        many = population(r, 1_000_000, np.random.default_rng(0))
        share = np.ceil(n / (4 if what == "estimate" else 10)) / n
        best = many <= np.quantile(many, share, axis=0)
        rho = float(stats.spearmanr(*many[best[:, 0]].T).statistic)
        return rho if what == "estimate" else float(best[best[:, 0], 1].mean())

    name = "quarter_rho" if what == "estimate" else "overlap"
    roles = apr.Roles.among("a", "ab", {})

    def study(draw: Generator, seed: int) -> bool | None:
        table = pd.DataFrame(population(r, n, draw), columns=["a", "b"])
        row = apr.best_proxies(table, roles, resamples=RESAMPLES, seed=seed).iloc[0]
        return held(row[f"{name}_low"], truth(), row[f"{name}_high"])

    return study


def of_partial(n: int) -> Study:
    """Nothing is there given two columns, and weights go with one of the two: is p <= 0.05?"""

    def study(draw: Generator, _: int) -> bool:
        given = draw.normal(size=(n, 2))
        x = given @ np.array([[1, 1], [0.5, -0.3]]) + draw.normal(size=(n, 2))
        values, weights = np.hstack([x, given]), np.exp(0.5 * x[:, 0])
        pairs, estimate = pairwise(values, [(0, 1)]), np.zeros(1)
        [p] = p_values(values, pairs, estimate, "spearman", weights, [2, 3])
        return bool(p <= 0.05)

    return study


def effects(kind: str, n: int, icc: float, draw: Generator) -> Floats:
    """(n, 2) two runs of n architectures."""
    quality = draw.normal(size=n)
    if kind == "skewed":
        quality = np.exp(quality) / np.sqrt((np.e - 1) * np.e)
    runs = np.sqrt(icc) * quality[:, None] + np.sqrt(1 - icc) * draw.normal(size=(n, 2))
    return np.where(draw.random((n, 2)) < 0.02, 8.0, runs) if kind == "guesses" else runs


def long(runs: Floats, repeated: int, dataset: str = "d") -> pd.DataFrame:
    """Replicates as a long table, of which the first so many architectures have two."""
    n, most = runs.shape
    columns = {"architecture": np.tile(np.arange(n), most), "replicate": np.repeat(range(most), n)}
    table = pd.DataFrame({**columns, "dataset": dataset, "error": runs.T.ravel()})
    return table[(table["replicate"] == 0) | (table["architecture"] < repeated)]


def of_reliability(kind: str, icc: float, n: int, repeated: int) -> Study:
    @cache
    def truth() -> float:
        many = effects(kind, 400_000, icc, np.random.default_rng(0))
        return float(stats.spearmanr(*many.T).statistic)

    def study(draw: Generator, seed: int) -> bool | None:
        runs = long(effects(kind, n, icc, draw), repeated)
        row = apr.noise_ceiling(runs).iloc[0]
        return held(row["icc_low"], truth(), row["icc_high"])

    return study


def of_corrected(kind: str, n: int, repeated: int) -> Study:
    """Two datasets with the same mean errors: without noise they correlate by 1."""

    def study(draw: Generator, seed: int) -> bool | None:
        state = draw.integers(2**32)
        runs = [effects(kind, n, 0.8, np.random.default_rng(state)) for _ in range(2)]
        mean = effects(kind, n, 1.0, np.random.default_rng(state))
        runs[1] = np.sqrt(0.8) * mean + np.sqrt(0.2) * draw.normal(size=(n, 2))
        both = pd.concat(
            [long(part, repeated, name) for part, name in zip(runs, "ab", strict=True)]
        )
        row = apr.corrected_correlations(both, "spearman", RESAMPLES, seed).iloc[0]
        return held(row["corrected_low"], 1, row["corrected_high"])

    return study


def of_targets(count: int, n: int, new: bool) -> Study:
    """The mean over all targets, or one new target, from a study of so many of them."""

    def study(draw: Generator, seed: int) -> bool | None:
        rhos = np.clip(0.5 + 0.15 * draw.normal(size=count + 1), -0.95, 0.95)
        source = draw.normal(size=(n, 1))
        targets = rhos[1:] * source + np.sqrt(1 - rhos[1:] ** 2) * draw.normal(size=(n, count))
        table = pd.DataFrame(np.hstack([source, targets]) + 50).rename(columns=str)
        names = list(table)
        row = apr.compare_proxies(table, names[:1], names[1:], None, "pearson", RESAMPLES, seed)
        truth = rhos[0] if new else 0.5
        kind = "new" if new else "random"
        return held(row[f"{kind}_low"].iloc[0], truth, row[f"{kind}_high"].iloc[0])

    return study


def of_regret(r: float, n: int, top: int, repeated: int) -> Study:
    """The regret of a choice by a proxy that correlates by r with the target's mean errors.

    With `repeated` architectures trained twice, their runs on the target have an ICC of 0.7.
    """
    roles = apr.Roles("a", {"a": 10}, {"b": 2})

    @cache
    def truth() -> float:
        many = normal(r, 4_000 * n, np.random.default_rng(0)).reshape(4_000, n, 2)
        chosen = np.argsort(many[:, :, 0], axis=1)[:, :top]
        kept = np.take_along_axis(many[:, :, 1], chosen, axis=1).min(axis=1)
        return float(np.mean(kept - many[:, :, 1].min(axis=1)))

    def study(draw: Generator, seed: int) -> bool | None:
        proxy, true = normal(r, n, draw).T
        runs = true[:, None] + np.sqrt(3 / 7) * draw.normal(size=(n, 2)) * bool(repeated)
        table = pd.DataFrame({"a": proxy, "b": runs[:, 0]}) + 50
        own = pd.concat([long(proxy[:, None] + 50, 0, "a"), long(runs + 50, repeated, "b")])
        replicates = own if repeated else None
        row = apr.selection_regret(
            table, roles, (top,), "best", RESAMPLES, seed, replicates=replicates
        ).iloc[0]
        return held(row["regret_low"], truth(), row["regret_high"])

    return study


def of_beyond(icc: float, n: int, repeated: int) -> Study:
    """Six other targets know nothing of the target but the source's quality: do they explain more?

    The source is measured with noise. A wrong conclusion is p <= 0.05.
    """

    def study(draw: Generator, _: int) -> bool:
        quality = draw.normal(size=n)
        source = quality[:, None] + np.sqrt(1 / icc - 1) * draw.normal(size=(n, 2))
        target = 0.7 * quality + np.sqrt(0.51) * draw.normal(size=n)
        others = quality[:, None] + 0.7 * draw.normal(size=(n, 6))
        table = pd.DataFrame(np.column_stack([source[:, 0], target, others]) * 3 + 70)
        parts = [long(source * 3 + 70, repeated, "0")]
        parts += [long(table[[name]].to_numpy(), 0, str(name)) for name in range(1, 8)]
        runs = pd.concat(parts).rename(columns={"error": "score"})
        table.columns = table.columns.astype(str)
        found = apr.other_targets(table, "0", average="scores", resamples=100, replicates=runs)
        return bool(found["p_average"].iloc[0] <= 0.05)

    return study


def of_slope(icc: float, n: int, repeated: int) -> Study:
    """The slope on the source without its noise, which is 1."""

    def study(draw: Generator, seed: int) -> bool | None:
        true = draw.normal(size=n)
        runs = true[:, None] + np.sqrt(1 / icc - 1) * draw.normal(size=(n, 2))
        table = pd.DataFrame({"a": runs[:, 0], "b": true + draw.normal(size=n)}) * 3 + 50
        known = long(runs * 3 + 50, repeated, "a").rename(columns={"error": "score"})
        row = apr.transfer_fits(table, "a", resamples=RESAMPLES, seed=seed, replicates=known).iloc[
            0
        ]
        return held(row["freed_slope_low"], 1, row["freed_slope_high"])

    return study


def of_robustness(base: int, shift: int, n: int) -> Study:
    """All models on one line: is one told to be robust?"""

    def study(draw: Generator, seed: int) -> bool:
        true = 1 + 0.35 * draw.normal(size=n)
        own = 100 * draw.binomial(base, special.expit(true)) / base
        new = 100 * draw.binomial(shift, special.expit(0.9 * true - 0.7)) / shift
        table = pd.DataFrame({"own": own, "new": new})
        found = apr.effective_robustness(table, "own", images={"own": base, "new": shift})
        return bool((found["robust"] == "yes").any())

    return study


def of_order(noise: float, n: int) -> Study:
    """The same order on two datasets, under noise that grows with the error: called reversed?"""

    def study(draw: Generator, seed: int) -> bool:
        quality = np.sort(draw.normal(size=n))
        spread = noise * np.exp(0.6 * quality)[:, None]
        parts = []
        for name, mean in (("a", 30 + 3 * quality), ("b", 10 + 2 * quality)):
            runs = mean[:, None] + spread * draw.normal(size=(n, 3))
            parts.append(
                pd.DataFrame(runs)
                .rename_axis("architecture")
                .reset_index()
                .melt("architecture", None, "replicate", "error")
                .assign(dataset=name)
            )
        found = apr.rank_preservation(apr.replicate_intervals(pd.concat(parts)), "a")
        return bool((found["preserved"] == "no").any())

    return study


def of_metric(metric: str, error: float, images: int) -> Study:
    truth = np.arange(images) % 2

    def study(draw: Generator, seed: int) -> bool | None:
        predicted = np.where(draw.random(images) < error / 100, 1 - truth, truth)
        low, high = error_interval(metric, truth, predicted, 2, RESAMPLES, seed=seed)
        return held(low, error, high)

    return study


def of_auroc(error: float, images: int) -> Study:
    """Half of the images are positive; normal scores whose AUROC is 100 - error percent."""
    apart = np.sqrt(2) * special.ndtri(1 - error / 100)

    def study(draw: Generator, seed: int) -> bool | None:
        truth = np.arange(images) % 2
        score = draw.normal(size=images) + apart * truth
        low, high = auroc_interval(np.column_stack([-score, score]), truth, RESAMPLES, seed=seed)
        return held(low, error, high)

    return study


def of_labels(error: float, images: int) -> Study:
    """Macro F1 of five labels, each of which 30% of the images have; all cells err alike."""
    wrong = error / 100
    said = 0.3 * (1 - wrong) + 0.7 * wrong
    truth = 100 * (1 - 2 * 0.3 * (1 - wrong) / (0.3 + said))

    def study(draw: Generator, seed: int) -> bool | None:
        has = draw.random((images, 5)) < 0.3
        says = np.where(draw.random(has.shape) < wrong, ~has, has)
        low, high = error_interval("macro_f1", has, says, 5, RESAMPLES, seed=seed)
        return held(low, truth, high)

    return study


ROWS = [
    *(
        Row(f"rho, n = {n}", f"{population.__name__} {r}", of_rho(population, r, n))
        for population, r in (
            (normal, 0.0),
            (normal, 0.5),
            (normal, 0.9),
            (fanning, 0.7),
            (coarse, 0.7),
            (guesses, 0.7),
        )
        for n in (14, 30, 100)
    ),
    *(
        Row(f"difference of rhos, n = {n}", f"normal {rhos}", of_difference(rhos, n))
        for rhos in ((-0.4, 0.3, 0.2), (0.9, 0.95, 0.95))
        for n in (6, 14, 100)
    ),
    *(
        Row(f"the chosen of {proxies} proxies, n = {n}", "equals", equals(n, proxies, True))
        for proxies, n in ((4, 30), (8, 30), (8, 100))
    ),
    *(
        Row(f"not the best of 8, n = {n}", "equals", equals(n, 8, False), wrong=True)
        for n in (14, 30, 100)
    ),
    *(
        Row(f"{what}, n = {n}", f"{population.__name__} {r}", study)
        for what, column in (("rho of the best quarter", "estimate"), ("best tenth", "overlap"))
        for population, r in ((normal, 0.5), (normal, 0.9), (fanning, 0.7))
        for n in (14, 30, 100)
        for study in [among_the_best(population, r, n, column)]
    ),
    *(
        Row(f"partial p, n = {n}", "weights go with x", of_partial(n), wrong=True)
        for n in (14, 30, 100)
    ),
    *(
        Row(
            f"reliability, {n}, {twice} twice", f"{kind} {icc}", of_reliability(kind, icc, n, twice)
        )
        for kind, icc in (("normal", 0.7), ("normal", 0.95), ("skewed", 0.9), ("guesses", 0.7))
        for n, twice in ((100, 16), (30, 30), (14, 14))
    ),
    *(
        Row(f"corrected rho, {n}, {twice} twice", kind, of_corrected(kind, n, twice))
        for kind in ("normal", "skewed")
        for n, twice in ((100, 100), (100, 16), (30, 30))
    ),
    *(
        Row(f"{what} of {count}, n = 100", "normal 0.5 ± 0.15", of_targets(count, 100, new))
        for what, new in (("targets at random", False), ("a new target", True))
        for count in (3, 7)
    ),
    *(
        Row(f"regret of best of {top}, n = {n}, {twice} twice", f"normal {r}", study)
        for n, twice in ((30, 30), (14, 0), (100, 0), (500, 0), (100, 16))
        for top, r in ((1, 0.5), (5, 0.9))
        for study in [of_regret(r, n, top, twice)]
    ),
    *(
        Row(f"slope without noise, {n}, {twice} twice", f"ICC {icc}", of_slope(icc, n, twice))
        for icc in (0.7, 0.87)
        for n, twice in ((30, 30), (14, 14), (100, 16), (100, 100))
    ),
    *(
        Row(f"others beyond the source, {n}, {twice} twice", f"ICC {icc}", study, wrong=True)
        for icc in (0.7, 0.87)
        for n, twice in ((30, 30), (14, 14), (100, 16), (100, 100))
        for study in [of_beyond(icc, n, twice)]
    ),
    *(
        Row(
            f"robust, {base:,}/{shift:,} images",
            "one line, n = 40",
            of_robustness(base, shift, 40),
            wrong=True,
        )
        for base, shift in ((10_000, 10_000), (1_000, 10_000))
    ),
    *(
        Row(f"order reversed, n = {n}", "noise grows", of_order(0.8, n), wrong=True)
        for n in (30, 100)
    ),
    *(
        Row(f"{metric}, 50 images", f"error {error}%", of_metric(metric, error, 50))
        for metric in ("balanced_accuracy", "macro_f1")
        for error in (2.0, 10.0)
    ),
    *(
        Row(f"{what}, 50 images", f"error {error}%", of(error, 50))
        for what, of in (("AUROC", of_auroc), ("macro F1 of labels", of_labels))
        for error in (0.5, 2.0, 10.0)
    ),
]


def shares(row: Row, studies: int) -> tuple[float, float]:
    """Percent that are True, of the studies with an interval; and percent of those without one."""
    found = [row.study(np.random.default_rng([seed, 7]), seed) for seed in range(studies)]
    known = [result for result in found if result is not None]
    return 100 * float(np.mean(known)), 100 * (1 - len(known) / studies)


def line(number: int, studies: int) -> str:
    """One row of the table, simulated."""
    row = ROWS[number]
    share, none = shares(row, studies)
    [low], [high] = binomial_interval([share], [round(studies * (1 - none / 100))])
    least, most = (0, 5) if row.wrong else (90, 98) if FEW.search(row.what) else (93, 97)
    said = f"{'wrong' if row.wrong else 'held':5} {share:5.1f} [{low:.1f}, {high:.1f}]"
    outside = ", outside" if high < least or low > most else ""
    return f"{row.what:40} {row.population:24} {said}{f', none {none:.1f}' * (none > 0)}{outside}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--only", default="", help="rows that begin so, such as 'regret'")
    options = parser.parse_args()
    print(f"of {options.studies:,} studies each, in percent")
    rows = [number for number, row in enumerate(ROWS) if row.what.startswith(options.only)]
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        for text in pool.map(partial(line, studies=options.studies), rows):
            print(text, flush=True)


if __name__ == "__main__":
    main()
