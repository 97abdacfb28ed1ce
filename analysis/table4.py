"""Paper 1, Table 4: do deeper and wider architectures err less, and on which datasets?

python analysis/table4.py studies/paper
python analysis/table4.py studies/paper --datasets family       (of the source and its subsets)
python analysis/table4.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)
"""

from anynet_study.analysis.analyses.script import Datasets, check_datasets, script, show
from anynet_study.analysis.study import Study


def table4(study: Study, datasets: Datasets = "") -> None:
    """Print the table of some datasets (`family`: the source's), or of all."""
    table = study.table("drivers").query("errors == 'test'").drop(columns="errors")
    if datasets:
        names = list(study.roles.family) if datasets == "family" else datasets.split(",")
        check_datasets(study, names)
        table = table[table["dataset"].isin(names)]
    show(study.analysis("drivers").title, table)


if __name__ == "__main__":
    script(table4)
