"""Paper 1, Figure 3: does an architecture that does well on the source do well on the targets?

    python analysis/figure3.py studies/paper -o figures
    python analysis/figure3.py errors.csv --source ImageNet --family ImageNet=1000 \
        --targets Cifar10=10,Powerline=2

Every target's test errors against the source's, the ten best and ten worst on the target marked.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script


def figure3(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw figure3.png and figure3.pdf."""
    read, roles = read_with_roles(source, source_name, family, targets)
    pairs = [(roles.source, target) for target in roles.targets]
    table = apr.correlations(read.errors, weights=read.weights)
    figure = plots.scatter_grid(read.errors, pairs, table)
    print(*plots.save(figure, output / "figure3"), sep="\n")


if __name__ == "__main__":
    script(figure3)
