"""Which parameters of which stage matter on which dataset, also at equal cost? Where do they flip?

    python analysis/stage_drivers.py studies/paper -o figures
    python analysis/stage_drivers.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)

Goes beyond paper 1's Table 4 (cumulative depth and width): every stage parameter's correlation with
the errors, raw and given FLOPs and parameters (stage_drivers.csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def stage_drivers(
    source: Source, output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures")
) -> None:
    """Draw stage_drivers.png, stage_drivers-partial.png and so on."""
    read = read_errors(source)
    if not read.has_stages:
        raise UserError(f"{source}: has no columns d1, w1, b1, g1, ... of the stages")
    table = apr.stage_drivers(read.errors, read.population, weights=read.weights)
    figure = plots.stage_driver_heatmap(table)
    print(*plots.save(figure, output / "stage_drivers", table=table), sep="\n")
    if table["partial"].notna().any():
        figure = plots.stage_driver_heatmap(table, "partial")
        print(*plots.save(figure, output / "stage_drivers-partial"), sep="\n")


if __name__ == "__main__":
    script(stage_drivers)
