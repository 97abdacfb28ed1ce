"""Paper 1, Figure A5: does balancing the classes change the ranking of the architectures?

    python analysis/figure_a5.py studies/paper --pairs MLC2008=MLC2008-balanced -o figures

The errors on each balanced dataset against those on the original, with their agreement
(figure_a5.csv). Any two versions of a dataset can be compared like this.
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, check_datasets, save, script
from anynet_study.study import Study


def figure_a5(
    study: Study,
    pairs: Annotated[str, typer.Option(help="ORIGINAL=BALANCED,...")],
    output: Output = FOLDER,
) -> None:
    """Draw figure_a5.png and figure_a5.pdf."""
    names = dict(pair.partition("=")[::2] for pair in pairs.split(","))
    check_datasets(study, [*names, *names.values()])
    before = study.errors[[*names]]
    after = study.errors[[*names.values()]].set_axis([*names], axis=1)
    table = apr.agreement(before, after, **study.options.correlating)
    figure = plots.agreement_grid(before, after, table, ("original", "balanced"))
    save(figure, output / "figure_a5", table)


if __name__ == "__main__":
    script(figure_a5)
