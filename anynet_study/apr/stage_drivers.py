"""Every stage parameter as a driver of the errors, raw and at equal cost (paper 1, section 4.4)."""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.bootstrap import Resampler
from anynet_study.apr.correlations import DRAWS_BYTES
from anynet_study.apr.drivers import cumulative
from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.intervals import check_level
from anynet_study.apr.kernels import Method
from anynet_study.apr.multiplicity import adjust
from anynet_study.apr.pairs import complete_in
from anynet_study.apr.partial import partial
from anynet_study.apr.population import numbers_of, parameters_of
from anynet_study.apr.ranks import Floats, Ints
from anynet_study.apr.table import check_errors
from anynet_study.apr.weights import aligned_weights, effective_sizes
from anynet_study.errors import UserError

COLUMNS = [
    *("dataset", "parameter", "estimate", "low", "high", "p", "p_holm"),
    *("partial", "partial_low", "partial_high", "partial_p", "partial_p_holm", "given", "n"),
    *("flips", "partial_flips"),
]

#: What a network costs: held constant in partial correlations.
COSTS = ("flops", "parameters")


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
    given two columns held the truth in 95% to 97.5% of samples of 12 to 120. p-values are
    Student's t with n - 2 - len(given) degrees of freedom, "_holm" those corrected for all
    parameters and datasets of the table.

    `flips` marks a parameter that matters on this dataset (p_holm < 1 - level) and matters with the
    other sign on another one: there, what helps the one hurts the other.

    n counts the architectures that have the error, the stage and all of `given`. NaN where n < 4 or
    a column is constant, and partial ones where the columns `given` determine each other.
    `weights` by architecture as in `correlations`; p is then of Kish's effective number. Raises
    UserError for method="kendall" and for a column `given` that the population does not have.
    """
    check_level(level, resamples)
    check_seed(seed)
    if method == "kendall":
        raise UserError("method: kendall has no partial correlation here; legal: spearman, pearson")
    table = check_errors(errors)
    if given is None:
        known = population.columns[population.notna().all()]
        given = [name for name in COSTS if name in known]
    stages = parameters_of(table, population)
    parameters = stages.join(cumulative(stages)).astype(np.float64)
    costs = numbers_of(table, population, given)
    own = aligned_weights(weights, table)
    kinds = len(given) + 2
    at_once = DRAWS_BYTES // (4 * resamples * kinds * (kinds - 1) * len(parameters.columns))
    slabs = [
        table.iloc[:, start : start + max(1, at_once)]
        for start in range(0, len(table.columns), max(1, at_once))
    ]
    parts = [
        _of_datasets(slab, parameters, costs, method, resamples, seed, level, own) for slab in slabs
    ]
    return _with_flips(pd.concat(parts, ignore_index=True), level)


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
    sizes, given = (errors.shape[1], parameters.shape[1]), [*costs.columns]
    place = {name: sum(sizes) + index for index, name in enumerate(given)}
    kinds = [*combinations(["error", "parameter", *given], 2)]
    pairs, needed = [], []
    for x, y in kinds:
        for error, parameter in product(range(sizes[0]), range(sizes[1])):
            at = {**place, "error": error, "parameter": sizes[0] + parameter}
            pairs.append((at[x], at[y]))
            needed.append([*at.values()])
    compared = complete_in(values, pairs, needed)
    resampled = Resampler(values, compared.enough(), method, weights).resampled(resamples, seed)
    count = sizes[0] * sizes[1]
    found = {kind: resampled[i * count : (i + 1) * count] for i, kind in enumerate(kinds)}
    effective = compared.counts if weights is None else effective_sizes(compared, weights)
    cells = [*product(errors.columns, parameters.columns)]
    table = pd.DataFrame(cells, columns=["dataset", "parameter"])
    for name, held in (("estimate", []), ("partial", given)):
        statistic = partial(found, "error", "parameter", held)
        if name == "partial" and not given:
            statistic = statistic.combined(lambda each: np.full_like(each, np.nan))
        prefix = "" if name == "estimate" else "partial_"
        table[name] = statistic.estimate
        table[f"{prefix}low"], table[f"{prefix}high"] = statistic.interval(level)
        table[f"{prefix}p"] = _p_values(statistic.estimate, effective[:count] - 2 - len(held))
    return table.assign(given=", ".join(given), n=compared.counts[:count])


def _p_values(estimate: Floats, freedom: Floats | Ints) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(estimate) * np.sqrt(freedom / ((1 + estimate) * (1 - estimate)))
    p: Floats = 2 * stats.t.sf(t, np.where(freedom > 0, freedom, np.nan))
    return p


def _with_flips(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """The table in its column order, with corrected p-values and the sign flips marked."""
    for kind in ("", "partial_"):
        estimate = "partial" if kind else "estimate"
        table[f"{kind}p_holm"] = adjust(table[f"{kind}p"])
        sign = np.sign(table[estimate]).where(table[f"{kind}p_holm"] < 1 - level, 0)
        signs = sign.groupby(table["parameter"])
        both = (signs.transform("min") < 0) & (signs.transform("max") > 0)
        table[f"{kind}flips"] = both & (sign != 0)
    return table[COLUMNS]
