"""Joining errors with the parameters of the architectures."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anynet_study.errors import UserError

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
        raise UserError(f"population: column {outside[0]}: stages are 1 to {MOST_STAGES}")
    stages = [*range(1, max(found.values(), default=1) + 1)]
    wanted = [f"{prefix}{stage}" for prefix in prefixes for stage in stages]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise UserError(
            f"population: no column {', '.join(absent)}; needed: d, w, b and g of every stage, "
            f"from 1 to the last one ({stages[-1]} here)"
        )
    return stages


def parameters_of(errors: pd.DataFrame, population: pd.DataFrame) -> pd.DataFrame:
    """The stage parameters (d1.., w1.., b1.., g1..) of the architectures of `errors`, in its order.

    `population` has a row an architecture, with its id in the column `architecture` or as index;
    cells of stages that an architecture does not have are missing. Raises UserError where a
    column, a cell of a stage or an architecture is missing, or one repeats.
    """
    stages = stages_of(population.columns)
    rows = rows_of(errors, population)
    parameters = rows[[f"{prefix}{stage}" for prefix in PARAMETERS.values() for stage in stages]]
    missing = parameters.isna().to_numpy()
    if not missing.any():
        return parameters
    incomplete = _incomplete(missing.reshape(-1, len(PARAMETERS), len(stages)))
    if incomplete.any():
        raise UserError(
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
    absent = [name for name in columns if name not in population.columns]
    if absent:
        raise UserError(f"population: no column {', '.join(absent)}")
    chosen = rows_of(errors, population)[list(columns)].apply(pd.to_numeric, errors="coerce")
    numbers = chosen.astype(np.float64)
    if np.isinf(numbers.to_numpy()).any():
        raise UserError(f"population: an infinite value in {', '.join(columns)}")
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
        raise UserError(f"{what}: architecture {repeated} is there more than once")
    unknown = errors.index.difference(population.index, sort=False)
    if len(unknown):
        raise UserError(
            f"{what}: {len(unknown)} architectures of the errors are not in it, "
            f"such as {unknown[0]}"
        )
    return population.loc[errors.index]


def _incomplete(missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n,) of (n, parameters, stages): has a stage in part, or one after one that it lacks."""
    lacks: NDArray[np.bool_] = np.all(missing, axis=1)
    in_part = (np.any(missing, axis=1) & ~lacks).any(axis=1)
    gap = (lacks[:, :-1] & ~lacks[:, 1:]).any(axis=1)
    found: NDArray[np.bool_] = in_part | gap | lacks[:, 0]
    return found
