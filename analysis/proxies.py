"""Which member of the source's family is the best proxy for each target, and how sure is that?

    python analysis/proxies.py studies/paper
    python analysis/proxies.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Goes beyond paper 1's Table 3, whose proxy is chosen by class count alone.
"""

from rich.console import Console

from anynet_study import apr
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script


def proxies(
    source: Source, source_name: SourceName = "", family: Family = None, targets: Targets = None
) -> None:
    """Rank the members of the family as proxies for every target."""
    read, roles = read_with_roles(source, source_name, family, targets)
    table = apr.best_proxies(read.errors, roles, weights=read.weights)
    print_table(Console(), "proxies", table)


if __name__ == "__main__":
    script(proxies)
