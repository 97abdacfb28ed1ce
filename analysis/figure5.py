"""Paper 1, Figure 5: does the ImageNet-X member closest in class count stand better for a target?

    python analysis/figure5.py studies/paper -o figures
    python analysis/figure5.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Figure 3 again, each target against that member of the source's family; the numbers are Table 3's.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, parse_roles, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure5(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw figure5.png and figure5.pdf."""
    read = read_errors(source, parse_roles(source_name, family or [], targets or []))
    if read.roles is None:
        raise UserError(f"{source}: say which datasets are --source, --family and --targets")
    closest = read.roles.closest_member
    pairs = [(closest(classes), target) for target, classes in read.roles.targets.items()]
    table = apr.correlations(read.errors, weights=read.weights)
    figure = plots.scatter_grid(read.errors, pairs, table)
    print(*plots.save(figure, output / "figure5"), sep="\n")


if __name__ == "__main__":
    script(figure5)
