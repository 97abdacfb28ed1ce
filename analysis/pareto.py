"""Which proxies are worth their cost: what training on each costs against how well it stands in?

    python analysis/pareto.py studies/paper -o figures
    python analysis/pareto.py errors.csv --costs ImageNet=9000,ImageNet-10=300 --source ImageNet \
        --family ImageNet=1000,ImageNet-10=10 --targets Cifar10=10,Powerline=2

Costs are the mean seconds of a run on the dataset, which a results store knows (pareto.csv).
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def pareto(
    study: Study,
    costs: Annotated[str, typer.Option(help="NAME=SECONDS,... of the family.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw pareto.png and pareto.pdf."""
    given = dict(pair.partition("=")[::2] for pair in costs.split(",")) if costs else {}
    try:
        seconds = {name: float(cost) for name, cost in given.items()} or study.costs
    except ValueError:
        raise UserError(f"--costs: {costs!r} is not NAME=SECONDS,...") from None
    table = apr.proxy_costs(study.errors, study.roles, seconds, **study.weighted)
    figure = plots.cost_grid(table, "seconds per run", study.roles.family)
    save(figure, output / "pareto", table)


if __name__ == "__main__":
    script(pareto)
