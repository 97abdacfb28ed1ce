"""Measure what drives the errors: depth, width and every stage parameter (paper 1, section 4.4).

Correlations with the parameters as they are and at equal cost; and how much a random forest that
predicts the errors needs each parameter, which also sees optima in the middle and parameters that
matter together.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
import scipy
from scipy.special import stdtrit

from anynet_study.analysis.apr.bootstrap import (
    FEWEST_TO_RESAMPLE,
    PairSet,
    Resampled,
    complete_in,
    pairwise,
    resample_correlations,
)
from anynet_study.analysis.apr.correlations import (
    DRAWS_BYTES,
    adjust,
    correlate_pairs,
    p_values,
)
from anynet_study.analysis.apr.error_tables import check_errors
from anynet_study.analysis.apr.options import Floats, Method, with_attrs
from anynet_study.analysis.apr.population import (
    aligned_weights,
    numbers_of,
    parameters_of,
    stages_of,
)
from anynet_study.core.errors import DoesNotApplyError, UserError
from anynet_study.core.metrics import check_level

#: Less unexplained variance than this share of a column is rounding: given columns determine it.
LEAST = 1e-10
COLUMNS = [
    *("dataset", "parameter", "estimate", "low", "high", "p", "p_holm"),
    *("partial", "partial_low", "partial_high", "partial_p", "partial_p_holm", "given", "n"),
    *("flips", "partial_flips"),
]

SUMS = ("cumulative depth", "cumulative width")
#: What a network costs: held constant in partial correlations.
COSTS = ("flops", "parameters")
#: Fewest architectures of which a forest is fitted: five folds of four.
FEWEST_OF_FOREST = 20
FOLDS = 5


def cumulative(population: pd.DataFrame) -> pd.DataFrame:
    """DataFrame["cumulative depth", "cumulative width"]: sums over an architecture's stages.

    NaN where it has none.
    """
    stages = stages_of(population.columns, "dw")
    sums = {
        name: population[[f"{prefix}{stage}" for stage in stages]].sum(axis=1, min_count=1)
        for name, prefix in zip(SUMS, "dw", strict=True)
    }
    return pd.DataFrame(sums)


def drivers(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
) -> pd.DataFrame:
    """Correlation of each dataset's errors with cumulative depth and width (Table 4).

    A positive value says that deeper, or wider, architectures err more. Returns
    DataFrame[dataset, parameter, estimate, low, high, n, p, p_holm] as `correlations` does, but for
    p (`no_trend`); NaN where a dataset has fewer than 4 errors or is constant, or all architectures
    are equally deep.
    `weights` by architecture as in `correlations`; a column `weight` of the population is not used
    unless given (`weights_of`).

    >>> errors = pd.DataFrame({"big": [30, 31, 33, 34, 36]}, index=list("abcde"))
    >>> depths = {"architecture": list("abcde"), "d1": [1, 2, 2, 3, 4], "w1": [64, 48, 32, 24, 16]}
    >>> depths |= {"b1": [1] * 5, "g1": [8] * 5}
    >>> table = drivers(errors, pd.DataFrame(depths), resamples=100)
    >>> table[["dataset", "parameter", "estimate", "n"]].round(2)
      dataset         parameter  estimate  n
    0     big  cumulative depth      0.97  5
    1     big  cumulative width     -1.00  5
    """
    check_level(level, resamples, seed)
    table = check_errors(errors)
    sums = cumulative(parameters_of(table, population))
    values = np.column_stack([table.to_numpy(), sums.to_numpy(dtype=np.float64)])
    datasets = range(len(table.columns))
    columns = [(dataset, len(datasets) + place) for dataset in datasets for place in (0, 1)]
    result = pd.DataFrame({"dataset": np.repeat(np.array(table.columns), 2)})
    result["parameter"] = [*sums.columns] * len(datasets)
    pairs = pairwise(values, columns)
    own = aligned_weights(weights, table)
    found = correlate_pairs(values, pairs, method, resamples, seed, level, own)
    found["p"] = no_trend(values, pairs, found["estimate"].to_numpy(), method, own)
    found["p_holm"] = adjust(found["p"])
    tests = f"the {found['p'].notna().sum()} tests of the table"
    return with_attrs(result.join(found), level, method, weighted=weights is not None, tests=tests)


def no_trend(
    values: Floats,
    pairs: PairSet,
    estimate: Floats,
    method: Method,
    weights: Floats | None,
    given: Sequence[int] = (),
) -> Floats:
    """(p,) two-sided p-values of no correlation, whatever the spread of errors hangs on.

    Student's t takes errors that vary more among the deepest and the shallowest architectures, but
    are neither larger nor smaller there, for a trend in 7% to 10% of cases. From 10 architectures
    on the p are those of `weighted_p_values`, which allows for uneven spread; below, those of
    `p_values`.
    """
    even, known = weights, pairs.counts[pairs.counts > 0]
    if weights is None and method != "kendall" and (known >= FEWEST_TO_RESAMPLE).all():
        even = np.ones(len(values))
    return p_values(values, pairs, estimate, method, even, given)


def partial(
    r: Mapping[tuple[str, str], Resampled], x: str, y: str, given: Sequence[str]
) -> Resampled:
    """The correlation of x and y given other columns, from the correlations `r` of all pairs.

    By the recursion that takes one column after the other out; with correlations of ranks it is the
    rank-based partial correlation, that of the residuals of ranks from a linear fit on ranks.
    Undefined (NaN) where the given columns determine x or y.
    """
    if not given:
        return r[x, y] if (x, y) in r else r[y, x]
    last, others = given[-1], given[:-1]
    parts = [partial(r, *pair, others) for pair in ((x, y), (x, last), (y, last))]
    return parts[0].combined(_without, *parts[1:])


def partial_correlations(
    table: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    given: Sequence[str],
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
) -> Resampled:
    """(p,) correlations of pairs of columns given other columns of a table, see `partial`."""
    values, place = table.to_numpy(float), {name: index for index, name in enumerate(table)}
    sides = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
    sides |= {name: [name] * len(pairs) for name in given}
    found = {}
    for kind in combinations(sides, 2):
        both = [(place[x], place[y]) for x, y in zip(*(sides[it] for it in kind), strict=True)]
        found[kind] = resample_correlations(values, pairwise(values, both), method, resamples, seed)
    return partial(found, "x", "y", given)


def _without(both: Floats, x: Floats, y: Floats) -> Floats:
    unexplained = (1 - x**2, 1 - y**2)
    left = np.where(np.minimum(*unexplained) > LEAST, unexplained[0] * unexplained[1], np.nan)
    return np.clip((both - x * y) / np.sqrt(left), -1.0, 1.0)


def stage_drivers(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    given: Sequence[str] | None = None,
    method: Method = "spearman",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    weights: pd.Series | None = None,
) -> pd.DataFrame:
    """Correlation of each dataset's errors with every stage parameter and with their sums.

    Returns DataFrame[dataset, parameter, estimate, low, high, p, p_holm, partial, partial_low,
    partial_high, partial_p, partial_p_holm, given, n, flips, partial_flips], a row for d1, ..., g4,
    cumulative depth and cumulative width of each dataset. A positive value says that larger
    parameters err more. `partial` is the (rank-based) partial correlation given the columns `given`
    of the population, by default those of FLOPs and parameters that it knows of all architectures;
    NaN where there are none. Intervals are BCa bootstrap intervals; nominal 95% ones of `partial`
    given two columns held the truth in 95% to 97.5% of samples of 12 to 120. p are those of
    `no_trend`. "_holm" are
    those corrected for a family of questions on all datasets: of the two sums, as in `drivers`,
    whose p these are; and, apart from them, of all parameters of single stages.

    `flips` marks a parameter that matters on this dataset (p_holm < 1 - level) and matters with the
    other sign on another one: there, what helps the one hurts the other.

    n counts the architectures that have the error, the stage and all of `given`. NaN where n < 4 or
    a column is constant, and partial ones where the columns `given` determine each other.
    `weights` by architecture as in `correlations`; both p are then those of `weighted_p_values`.
    Raises UserError for method="kendall" and for a column `given` that the population does not
    have.

    >>> errors = pd.DataFrame({"big": [30, 31, 33, 34, 36]}, index=list("abcde"))
    >>> depths = {"architecture": list("abcde"), "d1": [1, 2, 2, 3, 4], "w1": [64, 48, 32, 24, 16]}
    >>> depths |= {"b1": [1] * 5, "g1": [8] * 5}
    >>> table = stage_drivers(errors, pd.DataFrame(depths), resamples=100)
    >>> table[["parameter", "estimate", "p_holm"]].round(3).head(2)
      parameter  estimate  p_holm
    0        d1     0.975   0.033
    1        w1    -1.000   0.033
    """
    check_level(level, resamples, seed)
    if method == "kendall":
        raise DoesNotApplyError(
            "method: kendall has no partial correlation here; legal: spearman, pearson"
        )
    table = check_errors(errors)
    if given is None:
        known = population.columns[population.notna().all()]
        given = [name for name in COSTS if name in known]
    stages = parameters_of(table, population)
    parameters = stages.join(cumulative(stages)).astype(np.float64)
    costs = numbers_of(table, population, given)
    own = aligned_weights(weights, table)
    kinds = len(given) + 2
    # Of hundreds of datasets, the resamples of so many at once take DRAWS_BYTES.
    bytes_each = 4 * resamples * kinds * (kinds - 1) * len(parameters.columns)
    at_once = max(1, DRAWS_BYTES // bytes_each)
    starts = range(0, len(table.columns), at_once)
    parts = [
        _of_datasets(part, parameters, costs, method, resamples, seed, level, own)
        for part in (table.iloc[:, first : first + at_once] for first in starts)
    ]
    result = _with_flips(pd.concat(parts, ignore_index=True), level)
    known = result.groupby(_is_sum(result))["p"].count().reindex([True, False], fill_value=0)
    tests = f"the {known[True]} tests of sums, and for the {known[False]} of single stages"
    return with_attrs(result, level, method, weighted=weights is not None, tests=tests)


def _of_datasets(
    errors: pd.DataFrame,
    parameters: pd.DataFrame,
    costs: pd.DataFrame,
    method: Method,
    resamples: int,
    seed: int,
    level: float,
    weights: Floats | None,
) -> pd.DataFrame:
    values = np.column_stack([errors.to_numpy(), parameters.to_numpy(), costs.to_numpy()])
    datasets, given = errors.shape[1], [*costs.columns]
    kinds = [*combinations(["error", "parameter", *given], 2)]
    places = {name: values.shape[1] - len(given) + index for index, name in enumerate(given)}
    cells = [
        {"error": error, "parameter": parameter, **places}
        for error in range(datasets)
        for parameter in range(datasets, values.shape[1] - len(given))
    ]
    pairs = [(cell[x], cell[y]) for x, y in kinds for cell in cells]
    compared = complete_in(values, pairs, [[*cell.values()] for cell in cells] * len(kinds))
    resampled = resample_correlations(values, compared.enough(), method, resamples, seed, weights)
    count = len(cells)
    part = PairSet(compared.columns[:count], compared.rows[:count]).enough()
    found = {kind: resampled[i * count : (i + 1) * count] for i, kind in enumerate(kinds)}
    names = [*product(errors.columns, parameters.columns)]
    table = pd.DataFrame(names, columns=["dataset", "parameter"])
    for name, held in (("estimate", []), ("partial", given)):
        statistic = partial(found, "error", "parameter", held)
        if name == "partial" and not given:
            statistic = statistic.combined(lambda values: np.full_like(values, np.nan))
        table = table.assign(**statistic.columns(level, name))
        fixed = [places[column] for column in held]
        p = no_trend(values, part, statistic.estimate, method, weights, fixed)
        table["p" if name == "estimate" else "partial_p"] = p
    return table.assign(given=", ".join(given), n=compared.counts[:count])


def _is_sum(table: pd.DataFrame) -> pd.Series:
    """Tell which rows are of sums over the stages, as those of `drivers` are."""
    return table["parameter"].isin(SUMS)


def _with_flips(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """The table in its column order, with corrected p-values and the sign flips marked."""
    for kind in ("", "partial_"):
        families = table[f"{kind}p"].groupby(_is_sum(table))
        table[f"{kind}p_holm"] = families.transform(lambda p: adjust(p, "holm"))
        matters = table[f"{kind}p_holm"] <= 1 - level
        sign = np.sign(table["partial" if kind else "estimate"]).where(matters, 0)
        signs = sign.groupby(table["parameter"])
        both = (signs.transform("min") < 0) & (signs.transform("max") > 0)
        table[f"{kind}flips"] = both & (sign != 0)
    return table[COLUMNS]


def importance(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    trees: int = 100,
    repeats: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Permutation importance of every stage parameter for each dataset's errors.

    A random forest is fitted to the midranks of the errors (a diverged run then weighs no more than
    the worst) in five-fold cross-validation; the importance of a parameter is by how much R squared
    on the held-out architectures falls when its values there are shuffled, averaged over `repeats`
    shuffles and the folds. Returns DataFrame[dataset, parameter, importance, low, high, r2,
    r2_oob, n], the most important first within a dataset: `r2` is that of all held-out predictions
    and `r2_oob` that of the out-of-bag predictions of a forest of all. Where r2 is not above 0 the
    forest knows nothing, and importances mean nothing.

    Intervals are Student's t over the folds with the variance of Nadeau and Bengio ("Inference for
    the generalization error", 2003), which allows for the folds' shared training data.
    Architectures without a stage have 0 there. Datasets with fewer than 20 errors, or constant
    ones, have one row per parameter with NaN. Parameters that go together share their importance.
    """
    check_level(level, seed=seed)
    if trees < 30 or repeats < 1:  # with fewer, some have no out-of-bag prediction
        raise UserError(f"trees: {trees}, repeats: {repeats}; legal: at least 30, at least 1")
    table = check_errors(errors)
    parameters = parameters_of(table, population).fillna(0.0)
    parts = []
    for dataset in table.columns:
        known = table[dataset].notna().to_numpy()
        x, y = parameters.to_numpy(np.float64)[known], table[dataset].to_numpy()[known]
        row = {"dataset": dataset, "parameter": parameters.columns}
        columns = ["importance", "low", "high", "r2", "r2_oob"]
        found: dict[str, Floats | float] = dict.fromkeys(columns, np.nan)
        if len(y) >= FEWEST_OF_FOREST and np.ptp(y) > 0:
            found = _of_forests(x, scipy.stats.rankdata(y), trees, repeats, seed, level)
        parts.append(pd.DataFrame({**row, **found, "n": len(y)}))
    result = pd.concat(parts, ignore_index=True)
    order = np.lexsort([-result["importance"], result.index // len(parameters.columns)])
    return with_attrs(result.iloc[order].reset_index(drop=True), level)


def _of_forests(
    x: Floats, ranks: Floats, trees: int, repeats: int, seed: int, level: float
) -> dict[str, Floats | float]:
    """Importances (p,) of the columns of x (n, p) with their intervals, and both R squared."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import KFold

    forest = RandomForestRegressor(trees, max_features=1 / 3, random_state=seed)
    generator = np.random.default_rng(seed)
    predicted, falls = np.empty_like(ranks), []
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(x):
        forest.set_params(n_jobs=-1).fit(x[train], ranks[train])
        # Threads would sum the trees in any order: the last digits would differ from call to call.
        forest.set_params(n_jobs=1)
        predicted[test] = forest.predict(x[test])
        shuffled = _shuffled(x[test], repeats, generator)
        again = forest.predict(shuffled).reshape(-1, repeats, len(test))
        risen = ((again - ranks[test]) ** 2).mean(axis=2) - np.mean(
            (predicted[test] - ranks[test]) ** 2
        )
        falls.append(risen.mean(axis=1) / ranks.var())
    mean, spread = np.mean(falls, axis=0), np.std(falls, axis=0, ddof=1)
    half = spread * np.sqrt(1 / FOLDS + 1 / (FOLDS - 1)) * stdtrit(FOLDS - 1, (1 + level) / 2)
    whole = forest.set_params(n_jobs=-1, oob_score=True).fit(x, ranks)
    return {
        "importance": mean,
        "low": mean - half,
        "high": mean + half,
        "r2": 1 - float(np.mean((predicted - ranks) ** 2) / ranks.var()),
        "r2_oob": float(whole.oob_score_),
    }


def _shuffled(x: Floats, repeats: int, generator: np.random.Generator) -> Floats:
    """(p * repeats * n, p) copies of x (n, p), in each of which one column is shuffled.

    One prediction of all of them is ten times faster than one of each.
    """
    copies = np.tile(x, (x.shape[1] * repeats, 1, 1))
    for number, copy in enumerate(copies):
        column = number // repeats
        copy[:, column] = generator.permutation(copy[:, column])
    return copies.reshape(-1, x.shape[1])
