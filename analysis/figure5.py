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
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script


def figure5(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw figure5.png and figure5.pdf."""
    read, roles = read_with_roles(source, source_name, family, targets)
    closest = roles.closest_member
    pairs = [(closest(classes), target) for target, classes in roles.targets.items()]
    table = apr.correlations(read.errors, weights=read.weights)
    figure = plots.scatter_grid(read.errors, pairs, table)
    print(*plots.save(figure, output / "figure5"), sep="\n")


if __name__ == "__main__":
    script(figure5)
