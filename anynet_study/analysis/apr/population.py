"""The architectures themselves, as a table: their stage parameters and their weights.

Architectures that were not drawn with equal probability have weights, proportional to an
architecture's probability in the design space over that of being drawn (importance or stratified
sampling). With weights, a correlation is that of the weighted sample, and so estimates that of the
design space: weights that are whole numbers stand for as many copies of an architecture. Only
ratios of weights count. Resamples of the bootstrap draw architectures with equal probability, and
each keeps its weight; that a stratified sample fixes how many are drawn of each stratum is not
used, so that its intervals are, if anything, too wide. Nominal 95% intervals of Spearman's rho held
the value of the space in 94% to 96% of 400 simulated samples of 40, 200 and 500 (effective: 24,
118, 294), also of a column that the weights depend on.

`correlations`, `drivers`, `stage_drivers`, `match_family`, `best_proxies` and `proxy_costs` take
weights, for Spearman's and Pearson's coefficients. The others describe the sample as it was drawn.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anynet_study.analysis.apr.error_tables import check_columns
from anynet_study.analysis.apr.options import Floats
from anynet_study.core.errors import DoesNotApplyError, UserError

#: Most stages that an architecture may have.
MOST_STAGES = 8
#: Column prefixes of the stage parameters in a population table.
PARAMETERS = {"depth": "d", "width": "w", "bottleneck ratio": "b", "group width": "g"}

_COLUMN = re.compile(r"[dwbg]([0-9]{1,2})")


def stages_of(columns: Iterable[object], prefixes: Iterable[str] = "dwbg") -> list[int]:
    """The stages 1, 2, ... S that the columns of a population table (d1, w1, ...) describe.

    S is the most that any architecture of the population has, 1 to 8. Raises UserError unless
    each of `prefixes` has a column for each of these stages.
    """
    names = {str(name) for name in columns}
    found = {name: int(match[1]) for name in names if (match := _COLUMN.fullmatch(name))}
    outside = sorted(name for name, stage in found.items() if not 1 <= stage <= MOST_STAGES)
    if outside:
        raise DoesNotApplyError(f"population: column {outside[0]}: stages are 1 to {MOST_STAGES}")
    stages = [*range(1, max(found.values(), default=1) + 1)]
    wanted = [f"{prefix}{stage}" for prefix in prefixes for stage in stages]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise DoesNotApplyError(
            f"population: no column {', '.join(absent)}; needed: d, w, b and g of every stage, "
            f"from 1 to the last one ({stages[-1]} here)"
        )
    return stages


def parameters_of(errors: pd.DataFrame, population: pd.DataFrame) -> pd.DataFrame:
    """The stage parameters (d1.., w1.., b1.., g1..) of the architectures of `errors`, in its order.

    `population` has one row per architecture, with its id in the column `architecture` or as index;
    cells of stages that an architecture does not have are missing. Raises UserError where a
    column, a cell of a stage or an architecture is missing, or one repeats.
    """
    stages = stages_of(population.columns)
    rows = rows_of(errors, population)
    parameters = rows[[f"{prefix}{stage}" for prefix in PARAMETERS.values() for stage in stages]]
    missing = parameters.isna().to_numpy()
    if not missing.any():
        return parameters
    of_stages = missing.reshape(-1, len(PARAMETERS), len(stages))
    lacks = of_stages.all(axis=1)  # (n, stages)
    in_part = (of_stages.any(axis=1) & ~lacks).any(axis=1)
    gap = (lacks[:, :-1] & ~lacks[:, 1:]).any(axis=1)
    incomplete = in_part | gap | lacks[:, 0]
    if incomplete.any():
        raise DoesNotApplyError(
            f"population: architecture {parameters.index[incomplete][0]} lacks a parameter of a "
            "stage (d, w, b and g may only be missing together, from some stage to the last)"
        )
    return parameters.astype(np.float64)


def numbers_of(
    errors: pd.DataFrame, population: pd.DataFrame, columns: Sequence[str]
) -> pd.DataFrame:
    """Columns of the population, such as flops, of the architectures of `errors`, in its order.

    Raises UserError for a column that it does not have and for infinite values.
    """
    check_columns(population, columns, "population")
    chosen = rows_of(errors, population)[list(columns)].apply(pd.to_numeric, errors="coerce")
    numbers = chosen.astype(np.float64)
    if np.isinf(numbers.to_numpy()).any():
        raise DoesNotApplyError(f"population: an infinite value in {', '.join(columns)}")
    return numbers


def rows_of(
    errors: pd.DataFrame, population: pd.DataFrame, what: str = "population"
) -> pd.DataFrame:
    """The rows of a table, called `what`, that are about the architectures of `errors`, in order.

    Raises UserError where an architecture has no row, or several.
    """
    if "architecture" in population.columns:
        population = population.set_index("architecture")
    if population.index.has_duplicates:
        repeated = population.index[population.index.duplicated()][0]
        raise DoesNotApplyError(f"{what}: architecture {repeated} is there more than once")
    unknown = errors.index.difference(population.index, sort=False)
    if len(unknown):
        raise DoesNotApplyError(
            f"{what}: {len(unknown)} architectures of the errors are not in it, "
            f"such as {unknown[0]}"
        )
    return population.loc[errors.index]


def weights_of(population: pd.DataFrame) -> pd.Series | None:
    """The column `weight` of a population, by architecture; None where it has no such column."""
    if "architecture" in population.columns:
        population = population.set_index("architecture")
    return population.get("weight")


def aligned_weights(weights: pd.Series | None, errors: pd.DataFrame) -> Floats | None:
    """(n,) weights of the architectures of `errors`, in its order, with mean 1; None for None.

    Raises UserError where an architecture has no weight, several, or none that is finite and above
    0.
    """
    if weights is None:
        return None
    if not isinstance(weights, pd.Series):
        kind = type(weights).__name__
        raise UserError(f"weights: a {kind}; needed is a pandas Series by architecture")
    rows = rows_of(errors, weights.to_frame("weight"), "weights")["weight"]
    chosen = pd.to_numeric(rows, errors="coerce")
    values: Floats = chosen.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(bad):
        raise DoesNotApplyError(
            f"weights: architecture {errors.index[bad[0]]} has {rows.iloc[bad[0]]}; "
            "legal: finite numbers above 0"
        )
    values /= values.mean()
    return values


def effective_size(weights: ArrayLike) -> float:
    """Rows of equal weight that would say as much (Kish): square of the sum / sum of squares.

    0 where there are none.
    """
    values = np.asarray(weights, dtype=np.float64)
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / squares if squares else 0.0
