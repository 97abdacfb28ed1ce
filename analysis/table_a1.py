"""Paper 1, Table A1: how low are the errors of networks that were made for CIFAR-10?

    python analysis/table_a1.py studies/table-a1

The mean error of each named network over its replicates, the lowest and the highest, and the
paper's.
"""

import pandas as pd

from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save_table, script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError

#: Of the networks by their own name, and as configurations of AnyNet.
PAPER = {"resnet56": "5.91, 5.68", "resnet110": "5.23, 5.59"}


def table_a1(study: Study, output: Output = FOLDER) -> None:
    """Print the table, and write it to table_a1.csv."""
    if study.store is None:
        raise UserError(f"{study.name}: a results store is needed, which names its networks")
    runs = study.store.runs(columns=["network", "dataset", "recipe", "error"])
    runs = runs[runs["network"].astype(object).fillna("") != ""]
    if runs.empty:
        raise UserError(f"{study.name}: its sweep names no networks (population.networks)")
    of_each = runs.groupby(["network", "dataset", "recipe"], sort=False)["error"]
    table = of_each.agg(replicates="count", error="mean", low="min", high="max").reset_index()
    paper = table["network"].map(PAPER).astype(object)
    paper = paper.where(table["dataset"] == "cifar10").fillna("")
    table = pd.DataFrame(table).assign(paper=paper)
    show("Errors of named networks (%)", table)
    save_table(table, output / "table_a1.csv")


if __name__ == "__main__":
    script(table_a1)
