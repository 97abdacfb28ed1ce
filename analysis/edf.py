"""Radosavovic et al. 2019, Figure 4: how are the errors of a design space's models distributed?

    python analysis/edf.py studies/quickstart -o figures
    python analysis/edf.py anynetx.csv regnetx.csv -o figures

A panel for each dataset that all inputs have, and a curve for each input: the fraction of its
models that err at most so much, with the bootstrap's 95% band.
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Accuracy, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def edf(
    sources: Annotated[list[Path], typer.Argument(metavar="INPUT...")],
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
    accuracy: Accuracy = False,
) -> None:
    """Draw edf.png and edf.pdf."""
    errors = {}
    for source in sources:
        read = read_errors(source, accuracy=accuracy)
        errors[source.stem if read.store is None else read.name] = read.errors
    first, *others = errors.values()
    shared = [name for name in first.columns if all(name in other.columns for other in others)]
    if not shared:
        raise UserError(f"{', '.join(map(str, sources))}: have no dataset in common")
    curves = {
        dataset: {space: apr.edf(each[dataset], name=space) for space, each in errors.items()}
        for dataset in shared
    }
    print(*plots.save(plots.edf_grid(curves), output / "edf"), sep="\n")


if __name__ == "__main__":
    script(edf)
