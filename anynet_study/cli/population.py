"""A population as a summary for people, or as JSON."""

import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from anynet_study.design_space import Population


def print_population(population: Population, path: Path, as_json: bool) -> None:
    """Print how the population was drawn and the spread of its parameters."""
    columns = {name: population.table[name].to_numpy() for name in ("flops", "parameters")}
    for name, letter in (("cumulative depth", "d"), ("cumulative width", "w")):
        columns[name] = np.sum([population.table[f"{letter}{i}"] for i in range(1, 5)], axis=0)
    quartiles = {name: np.percentile(v, [0, 25, 50, 75, 100]) for name, v in columns.items()}
    sampling = population.sampling
    if as_json:
        spread = {name: dict(zip(LABELS, q.tolist(), strict=True)) for name, q in quartiles.items()}
        print(json.dumps({"path": str(path), "sampling": sampling, "spread": spread}, indent=2))
        return
    table = Table(title=f"{len(population)} architectures in {path}", title_justify="left")
    for heading in ("", *LABELS):
        table.add_column(heading, justify="right" if heading else "left")
    for name, values in quartiles.items():
        unit = 1e6 if name in ("flops", "parameters") else 1
        label = f"{name.replace('flops', 'FLOPs')} (M)" if unit > 1 else name
        table.add_row(label, *(f"{value / unit:,.4g}" for value in values))
    console = Console()
    console.print(table)
    low, high = sampling["acceptance_interval"]
    console.print(
        f"{sampling['candidates']:,} candidates drawn, {sampling['in_band']:,} in the band "
        f"(acceptance {sampling['acceptance']:.2%}, 95% interval {low:.2%} to {high:.2%}), "
        f"{sampling['duplicates']:,} duplicates removed",
        highlight=False,
    )


LABELS = ("lowest", "25%", "median", "75%", "highest")
