"""Which proxies are worth their cost: what training on each costs against how well it stands in?

    python analysis/pareto.py studies/paper -o figures
    python analysis/pareto.py errors.csv --costs ImageNet=9000,ImageNet-10=300 --source ImageNet \
        --family ImageNet=1000,ImageNet-10=10 --targets Cifar10=10,Powerline=2

Costs are the mean seconds of a run on the dataset, which a results store knows (pareto.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Family, Source, SourceName, Targets, read_with_roles
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def pareto(
    source: Source,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    costs: Annotated[str, typer.Option(help="NAME=SECONDS,... of the family.")] = "",
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
) -> None:
    """Draw pareto.png and pareto.pdf."""
    read, roles = read_with_roles(source, source_name, family, targets)
    given = dict(pair.partition("=")[::2] for pair in costs.split(",")) if costs else {}
    try:
        seconds = {name: float(cost) for name, cost in given.items()}
    except ValueError:
        raise UserError(f"--costs: {costs!r} is not NAME=SECONDS,...") from None
    if read.store is not None and not costs:
        runs = read.store.runs(["dataset", "seconds"]).query("seconds > 0")
        seconds = runs.groupby("dataset")["seconds"].mean().to_dict()
    table = apr.proxy_costs(read.errors, roles, seconds, weights=read.weights)
    figure = plots.cost_grid(table, "seconds a run", roles.family)
    print(*plots.save(figure, output / "pareto", table=table), sep="\n")


if __name__ == "__main__":
    script(pareto)
