"""How much does a forest that predicts ranks on a dataset need each stage parameter?

python analysis/importance.py studies/paper -o figures
python analysis/importance.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)

Permutation importance on held-out architectures, with R squared of the forest (importance.csv).
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.drivers import TREES
from anynet_study.analysis.analyses.script import FOLDER, save, script
from anynet_study.analysis.study import Study


def importance(
    study: Study,
    output: Output = FOLDER,
    trees: Annotated[int, typer.Option(help="Trees of each forest.")] = TREES,
) -> None:
    """Draw importance.png and importance.pdf."""
    seed, level = study.options.seed, study.options.level
    table = apr.importance(study.errors, study.population, trees=trees, seed=seed, level=level)
    save(plots.importance_grid(table), output / "importance", table)


if __name__ == "__main__":
    script(importance)
