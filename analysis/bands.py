"""Beyond paper 1: do rankings carry over alike in another band of FLOPs, parameters or depths?

    python analysis/bands.py studies/paper flops
    python analysis/bands.py studies/paper flops --edge 3.8e8
    python analysis/bands.py studies/paper flops --beside studies/paper-small

The correlation of every target with the source among the architectures below and above an edge (by
default the median), and their difference with an interval; those of all targets hold together.
With --beside, the second band is another study of the same datasets, such as `paper.yaml
name=paper-small "population.flops=[180e6, 200e6]"`.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from anynet_study import apr, load, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.building import described
from anynet_study.analysis.analyses.script import FOLDER, save, script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError, amount

#: Of `apr.compare_bands`.
BANDS = ("lower", "upper")


def bands(
    study: Study,
    covariate: Annotated[
        str, typer.Argument(help="flops, parameters or another column.")
    ] = "flops",
    edge: Annotated[float | None, typer.Option(help="Where the upper band begins.")] = None,
    beside: Annotated[Path | None, typer.Option(help="A study that is the second band.")] = None,
    output: Output = FOLDER,
) -> None:
    """Draw bands.png and bands.pdf, and print the differences of correlations."""
    values = pd.to_numeric(described(study, covariate), errors="coerce").reindex(study.errors.index)
    if beside is None:
        edge = float(values.median()) if edge is None else edge
        kept = values.dropna().index
        part = study.errors.loc[kept]
        two = part[values[kept] < edge], part[values[kept] >= edge]
        own = (study.weights, study.weights)
        name = "FLOPs" if covariate == "flops" else covariate
        labels = f"{name} below {amount(edge)}", f"{name} from {amount(edge)}"
    else:
        other = load(beside, study.inputs.roles, **asdict(study.options))
        first, second = values.median(), described(other, covariate).median()
        both = sorted([(first, study), (second, other)], key=lambda pair: pair[0])
        two = both[0][1].errors, both[1][1].errors
        own = both[0][1].weights, both[1][1].weights
        labels = both[0][1].name, both[1][1].name
    if min(map(len, two)) < apr.FEWEST:
        raise UserError(f"{study.name}: a band of {min(map(len, two))} architectures is too small")
    roles, how = study.roles, study.options.correlating
    table = apr.compare_bands(*two, roles.source, [*roles.targets], weights=own, **how)
    show(f"Correlation with {roles.source}: {labels[0]} (lower), {labels[1]} (upper)", table)
    parts = [of_band(table, name, label) for name, label in zip(BANDS, labels, strict=True)]
    rows = pd.concat(parts, ignore_index=True)
    rows.attrs = table.attrs
    save(plots.proxy_chart(rows), output / "bands", table)


def of_band(table: pd.DataFrame, band: str, label: str) -> pd.DataFrame:
    """The correlations of one band, as `plots.proxy_chart` takes them."""
    names = {band: "estimate", f"{band}_low": "low", f"{band}_high": "high", f"n_{band}": "n"}
    return table[["target", *names]].rename(columns=names).assign(proxy=label)


if __name__ == "__main__":
    script(bands)
