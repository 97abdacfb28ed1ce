"""Which member of the source's family is the best proxy for each target, and how sure is that?

    python analysis/proxies.py studies/paper
    python analysis/proxies.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Goes beyond paper 1's Table 3, whose proxy is chosen by class count alone.
"""

from rich.console import Console

from anynet_study import apr
from anynet_study.cli.analysis_text import print_table
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, parse_roles, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def proxies(
    source: Source, source_name: SourceName = "", family: Family = None, targets: Targets = None
) -> None:
    """Rank the members of the family as proxies for every target."""
    read = read_errors(source, parse_roles(source_name, family or [], targets or []))
    if read.roles is None:
        raise UserError(f"{source}: say which datasets are --source, --family and --targets")
    table = apr.best_proxies(read.errors, read.roles, weights=read.weights)
    print_table(Console(), "proxies", table)


if __name__ == "__main__":
    script(proxies)
