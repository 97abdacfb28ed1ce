"""How the best architectures of each dataset are built (paper 1, section 6.2.2, Figure A7)."""

import pandas as pd

from anynet_study.apr.extremes import at_most_a_quarter, ranked
from anynet_study.apr.population import PARAMETERS, parameters_of, stages_of
from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError


def configurations(errors: pd.DataFrame, population: pd.DataFrame, top: int = 15) -> pd.DataFrame:
    """Stage parameters of the best architecture and of the `top` best, for each dataset.

    Returns DataFrame[dataset, parameter, stage, best, mean, std, n]: n is how many architectures
    the mean and the sample standard deviation (NaN for one) are of: those of the `top` best, or of
    the best quarter of all that have an error where it is fewer (`at_most_a_quarter`), that have
    the stage; `best` and `mean` are NaN where the best architecture, or none, has it. A dataset
    without any error has no rows. What is best in a sample says nothing of how it was drawn:
    weights do not enter.
    """
    if top < 1:
        raise UserError(f"top: {top} is not a count of at least 1")
    table = check_errors(errors, fewest=1)
    parameters = parameters_of(table, population)
    stages = stages_of(parameters.columns)
    rows = []
    for dataset in table.columns:
        order = ranked(table, dataset).index
        if not len(order):
            continue
        order = order[: at_most_a_quarter(top, len(order))]
        chosen = parameters.loc[order]
        for name, prefix in PARAMETERS.items():
            for stage in stages:
                column = chosen[f"{prefix}{stage}"]
                summary = (column.iloc[0], column.mean(), column.std(ddof=1), column.count())
                rows.append((dataset, name, stage, *summary))
    names = ["dataset", "parameter", "stage", "best", "mean", "std", "n"]
    return pd.DataFrame(rows, columns=names)
