"""What does it cost on each target to choose architectures by a member of the source's family?

    python analysis/regret.py studies/paper -o figures
    python analysis/regret.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

The error above that of the best architecture when the best 1, 5 and 10 on the proxy are tried, and
when as many are tried at random (regret.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script


def regret(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw regret.png and regret.pdf."""
    read, roles = read_with_roles(source, source_name, family, targets)
    table = apr.selection_regret(read.errors, roles)
    figure = plots.regret_grid(table, roles.family)
    print(*plots.save(figure, output / "regret", table=table), sep="\n")


if __name__ == "__main__":
    script(regret)
