"""Paper 1, Figure 4: do the errors on subsets of the source's classes still follow the source's?

    python analysis/figure4.py studies/paper -o figures
    python analysis/figure4.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

The test errors on every other member of the source's family against the source's.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure4(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw figure4.png and figure4.pdf."""
    read, roles = read_with_roles(source, source_name, family, targets)
    pairs = [(roles.source, name) for name in roles.family if name != roles.source]
    if not pairs:
        raise UserError(f"{source}: the source's family has no other member")
    table = apr.correlations(read.errors, weights=read.weights)
    figure = plots.scatter_grid(read.errors, pairs, table)
    print(*plots.save(figure, output / "figure4"), sep="\n")


if __name__ == "__main__":
    script(figure4)
