"""Paper 1, Table 3: does the ImageNet-X member closest in class count stand better for a target?

    python analysis/table3.py studies/paper
    python analysis/table3.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Differences have paired-bootstrap intervals: all correlations of a resample are of the same
architectures.
"""

from rich.console import Console

from anynet_study import apr
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script


def table3(
    source: Source, source_name: SourceName = "", family: Family = None, targets: Targets = None
) -> None:
    """Match every target with the closest member of the source's family."""
    read, roles = read_with_roles(source, source_name, family, targets)
    table = apr.match_family(read.errors, roles, weights=read.weights)
    print_table(Console(), "match", table)


if __name__ == "__main__":
    script(table3)
