"""Paper 1, Figure A5: does balancing the classes change the ranking of the architectures?

    python analysis/figure_a5.py studies/paper --pairs MLC2008=MLC2008-balanced -o figures

The errors on each balanced dataset against those on the original, with their agreement
(figure_a5.csv). Any two versions of a dataset can be compared like this.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def figure_a5(
    source: Source,
    pairs: Annotated[str, typer.Option(help="ORIGINAL=BALANCED,...")],
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw figure_a5.png and figure_a5.pdf."""
    errors = read_errors(source).errors
    names = dict(pair.partition("=")[::2] for pair in pairs.split(","))
    absent = [name for name in [*names, *names.values()] if name not in errors]
    if absent:
        raise UserError(f"--pairs: no dataset {', '.join(absent)}; there are {', '.join(errors)}")
    before = errors[[*names]]
    after = errors[[*names.values()]].set_axis([*names], axis=1)
    table = apr.agreement(before, after)
    figure = plots.agreement_grid(before, after, table, ("original", "balanced"))
    print(*plots.save(figure, output / "figure_a5", table=table), sep="\n")


if __name__ == "__main__":
    script(figure_a5)
