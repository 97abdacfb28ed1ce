"""Paper 1, Figure A4: would top-1 instead of top-5 error, or training error, tell another story?

    python analysis/figure_a4.py studies/paper -o figures

(a) top-1 against top-5 error of every dataset that has both, with the share of pairs of
architectures whose order differs (figure_a4a.csv); (b) training errors against cumulative depth,
with the correlations of training and of test errors (figure_a4b.csv): where they are alike,
overfitting is not why depth matters.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError
from anynet_study.report import study_tables


def figure_a4(
    source: Source, output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures")
) -> None:
    """Draw figure_a4a.png, figure_a4b.png and so on, of what there is."""
    store = read_errors(source).store
    if store is None:
        raise UserError(f"{source}: only a results store has training errors and both metrics")
    study = study_tables(store)
    if study.by_metric:
        before, after = study.by_metric["top5"], study.by_metric["top1"]
        table = apr.agreement(before, after)
        figure = plots.agreement_grid(before, after, table, ("top-5", "top-1"))
        print(*plots.save(figure, output / "figure_a4a", table=table), sep="\n")
    if study.training_errors is not None and study.population is not None:
        kinds = {"training": study.training_errors, "test": study.errors}
        tables = {kind: apr.drivers(each, study.population) for kind, each in kinds.items()}
        figure = plots.driver_grid(
            study.training_errors, study.population, "cumulative depth", tables["training"]
        )
        both = pd.concat([each.assign(errors=kind) for kind, each in tables.items()])
        print(*plots.save(figure, output / "figure_a4b", table=both), sep="\n")


if __name__ == "__main__":
    script(figure_a4)
