"""Joining errors with the parameters of the architectures."""

import pandas as pd

from anynet_study.errors import UserError

STAGES = (1, 2, 3, 4)

#: Column prefixes of the stage parameters in a population table.
PARAMETERS = {"depth": "d", "width": "w", "bottleneck ratio": "b", "group width": "g"}


def parameters_of(errors: pd.DataFrame, population: pd.DataFrame) -> pd.DataFrame:
    """The stage parameters (d1..d4, w1..g4) of the architectures of `errors`, in its order.

    `population` has a row an architecture, with its id in the column `architecture` or as index.
    Raises UserError where a column, a cell or an architecture is missing, or one repeats.
    """
    if "architecture" in population.columns:
        population = population.set_index("architecture")
    wanted = [f"{prefix}{stage}" for prefix in PARAMETERS.values() for stage in STAGES]
    absent = [name for name in wanted if name not in population.columns]
    if absent:
        raise UserError(f"population: no column {', '.join(absent)}")
    if population.index.has_duplicates:
        repeated = population.index[population.index.duplicated()][0]
        raise UserError(f"population: architecture {repeated} is there more than once")
    unknown = errors.index.difference(population.index, sort=False)
    if len(unknown):
        raise UserError(
            f"population: {len(unknown)} architectures of the errors are not in it, "
            f"such as {unknown[0]}"
        )
    parameters = population.loc[errors.index, wanted]
    if parameters.isna().any(axis=None):
        incomplete = parameters.index[parameters.isna().any(axis=1)][0]
        raise UserError(f"population: architecture {incomplete} lacks a parameter of a stage")
    return parameters
