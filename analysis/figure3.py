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
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, parse_roles, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure3(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw figure3.png and figure3.pdf."""
    read = read_errors(source, parse_roles(source_name, family or [], targets or []))
    if read.roles is None:
        raise UserError(f"{source}: say which datasets are --source, --family and --targets")
    pairs = [(read.roles.source, target) for target in read.roles.targets]
    table = apr.correlations(read.errors, weights=read.weights)
    figure = plots.scatter_grid(read.errors, pairs, table)
    print(*plots.save(figure, output / "figure3"), sep="\n")


if __name__ == "__main__":
    script(figure3)
