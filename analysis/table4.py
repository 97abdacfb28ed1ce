"""Paper 1, Table 4: do deeper and wider architectures err less, and on which datasets?

python analysis/table4.py studies/paper
python analysis/table4.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)
"""

from rich.console import Console

from anynet_study import apr
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def table4(source: Source) -> None:
    """Correlate the errors on every dataset with cumulative block depth and width."""
    read = read_errors(source)
    if not read.has_stages:
        raise UserError(f"{source}: has no columns d1, w1, b1, g1, ... of the stages")
    table = apr.drivers(read.errors, read.population, weights=read.weights)
    print_table(Console(), "drivers", table)


if __name__ == "__main__":
    script(table4)
