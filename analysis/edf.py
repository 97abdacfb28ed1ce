"""Radosavovic et al. 2019, Figure 4: how are the errors of a design space's models distributed?

    python analysis/edf.py studies/quickstart -o figures
    python analysis/edf.py anynetx.csv regnetx.csv -o figures

A panel for each dataset that all inputs have, and a curve for each input: the fraction of its
models that err at most so much, with the bootstrap's 95% band.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output, StudyOptions, with_study_options
from anynet_study.analysis.analyses.script import FOLDER, run, save
from anynet_study.core.errors import UserError


@with_study_options
def edf(
    sources: Annotated[list[Path], typer.Argument(metavar="INPUT...")],
    output: Output = FOLDER,
    *,
    options: StudyOptions,
) -> None:
    """Draw edf.png and edf.pdf."""
    studies = {}
    for path in sources:
        study = options.load(path)
        studies[path.stem if study.store is None else study.name] = study
    first, *others = (study.errors for study in studies.values())
    shared = [name for name in first.columns if all(name in other.columns for other in others)]
    if not shared:
        raise UserError(f"{', '.join(map(str, sources))}: have no dataset in common")
    how = study.options.intervals
    curves = {
        dataset: {
            space: apr.edf(study.errors[dataset], study.weights, name=space, **how)
            for space, study in studies.items()
        }
        for dataset in shared
    }
    table = pd.concat({dataset: pd.concat(spaces) for dataset, spaces in curves.items()})
    table = table.rename_axis(["dataset", "space", None]).reset_index([0, 1])
    save(plots.edf_grid(curves, level=options.level), output / "edf", table)


if __name__ == "__main__":
    run(edf)
