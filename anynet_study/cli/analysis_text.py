"""The tables of an analysis for people: strings with intervals, printed to fit a terminal."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: Longest dataset name that is shown whole.
NAME_WIDTH = 18
#: Most stages that are columns of a table.
MOST_ACROSS = 4

TITLES = {
    "correlations": "Correlation of the errors, every pair of datasets",
    "match": "Targets: correlation with the source and with its closest family member",
    "proxies": "Proxies for each target, the best first",
    "drivers": "Correlation of the errors with the architecture (positive: more is worse)",
    "configurations": "Configurations of the best architectures: mean±std (the best one)",
    "noise": "Training variability and the ceiling it puts on correlations",
}


def number(value: float, digits: int = 2) -> str:
    """A number, without a sign on zero; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def estimate(row: Mapping[str, Any], name: str, separator: str = " ") -> str:
    """`0.81 [0.62, 0.91]`, from the columns name, name_low and name_high (estimate, low, high)."""
    prefix = "" if name == "estimate" else f"{name}_"
    if not math.isfinite(row[name]):
        return "–"
    low, high = number(row[f"{prefix}low"]), number(row[f"{prefix}high"])
    return f"{number(row[name])}{separator}[{low}, {high}]"


def name_of(dataset: str) -> str:
    """A dataset's name on one line, cut in the middle if it is long."""
    if len(dataset) <= NAME_WIDTH:
        return dataset
    tail = NAME_WIDTH // 2 - 1
    return dataset[: NAME_WIDTH - 1 - tail] + "…" + dataset[-tail:]


def display(name: str, table: "pd.DataFrame", separator: str = " ") -> "pd.DataFrame":
    """A table as the strings that people read; `separator` goes between estimate and interval."""
    import pandas as pd

    if name == "configurations":
        return _configurations(table)
    rows = [ROWS[name](row, separator) for row in table.to_dict("records")]
    shown = pd.DataFrame(rows)
    if name == "match":
        averaged = table["difference"].iloc[:-1].notna().sum()
        shown["target"] = shown["target"].replace("average", f"average of {averaged}")
    return shown


def print_matrix(console: Console, table: "pd.DataFrame") -> None:
    """The lower triangle of the correlations, in as many panels as the width asks for."""
    from anynet_study.apr import as_matrix

    matrix = as_matrix(table)
    labels = [f"{i} {name_of(str(name))}" for i, name in enumerate(matrix.columns, 1)]
    fitting = max(3, (console.width - max(map(len, labels)) - 2) // 6)
    edges = [*range(0, max(1, len(matrix) - 1), fitting), len(matrix) - 1]
    for start, stop in pairwise(edges):
        grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        grid.add_column("")
        for column in range(start, stop):
            grid.add_column(str(column + 1), justify="right", min_width=5)
        for row in range(start + 1, len(matrix)):
            cells = matrix.iloc[row, start : min(row, stop)]
            grid.add_row(escape(labels[row]), *map(number, cells))
        if start == 0:
            console.print(labels[0], highlight=False, markup=False)
        console.print(grid)


def print_heading(console: Console, name: str) -> None:
    """The title of a table."""
    console.print(f"\n[bold]{TITLES[name]}[/bold]", highlight=False)


def print_table(console: Console, name: str, table: "pd.DataFrame") -> None:
    """One of an analysis' tables under its title."""
    print_heading(console, name)
    if table.empty:
        console.print("nothing to show")
        return
    if name == "correlations":
        print_matrix(console, table)
        console.print()
    # A match has three intervals a row: below 100 columns they go under their estimates.
    narrow = name == "match" and console.width < 100
    shown = display(name, table, "\n" if narrow else " ")
    if name == "configurations":  # too wide with a column of datasets
        for dataset, part in shown.groupby("dataset", sort=False):
            console.print(f"[bold]{escape(str(dataset))}[/bold]", highlight=False)
            console.print(_grid(part.drop(columns="dataset")), highlight=False)
        return
    if name != "correlations":  # a dataset's name once, over the rows that are about it
        first = shown.columns[0]
        shown[first] = shown[first].mask(shown[first].duplicated(), "")
    console.print(_grid(shown), highlight=False)


def _grid(shown: "pd.DataFrame") -> Table:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in shown.columns:
        grid.add_column(column, justify="left" if column in LEFT else "right")
    for row in shown.itertuples(index=False):
        grid.add_row(*map(escape, row))
    return grid


def _pair(row: Mapping[str, Any], separator: str) -> dict[str, str]:
    return {
        "dataset": name_of(str(row["source"])),
        "and": name_of(str(row["target"])),
        "correlation": estimate(row, "estimate", separator),
        **_counts(row),
        "p": _p_value(row["p"]),
    }


def _match(row: Mapping[str, Any], separator: str) -> dict[str, str]:
    average = row["target"] == "average"
    return {
        "target": name_of(str(row["target"]))
        + ("" if average else f"{separator}({row['classes']})"),
        "closest": "" if average else name_of(str(row["member"])),
        "source": estimate(row, "rho_source", separator),
        "closest member": estimate(row, "rho_member", separator),
        "difference": estimate(row, "difference", separator),
        **_counts(row),
    }


def _proxy(row: Mapping[str, Any], separator: str) -> dict[str, str]:
    return {
        "target": name_of(str(row["target"])),
        "proxy": name_of(str(row["proxy"])),
        "correlation": estimate(row, "estimate", separator),
        "P(best)": number(row["probability_best"]),
        **_counts(row),
    }


def _driver(row: Mapping[str, Any], separator: str) -> dict[str, str]:
    return {
        "dataset": name_of(str(row["dataset"])),
        "parameter": str(row["parameter"]),
        "correlation": estimate(row, "estimate", separator),
        **_counts(row),
        "p": _p_value(row["p"]),
    }


def _configurations(table: "pd.DataFrame") -> "pd.DataFrame":
    """One row a dataset and parameter, one column a stage; the other way round for many stages.

    Also where the best differ in their number of stages: n is then that of the stage.
    """
    import pandas as pd

    same = not (table.groupby("dataset")["n"].nunique() > 1).any()
    down, across = "parameter", "stage"
    if len(table["stage"].unique()) > MOST_ACROSS or not same:
        down, across = across, down
    rows = []
    for (dataset, name), part in table.groupby(["dataset", down], sort=False):
        row = {"dataset": name_of(str(dataset)), down: str(name)}
        for cell in part.to_dict("records"):
            head = f"stage {cell['stage']}" if across == "stage" else cell["parameter"]
            row[head] = _spread(cell)
        rows.append({**row, "n": str(part["n"].iloc[0])})
    return pd.DataFrame(rows)


def _spread(cell: Mapping[str, Any]) -> str:
    """`12.5±3.1 (8)`: mean, standard deviation and the best architecture's."""
    if not cell["n"]:
        return "–"
    digits = 0 if cell["parameter"] == "width" else 1
    best = f"{cell['best']:g}" if math.isfinite(cell["best"]) else "–"
    return f"{number(cell['mean'], digits)}±{number(cell['std'], digits)} ({best})"


def _noise(row: Mapping[str, Any], separator: str) -> dict[str, str]:
    return {
        "dataset": name_of(str(row["dataset"])),
        "archs": str(row["architectures"]),
        "runs": str(row["replicates"]),
        "std within": number(row["within_std"]),
        "between": number(row["between_std"]),
        "ICC": estimate(row, "icc", separator),
        "ceiling": number(row["ceiling"]),
    }


def _counts(row: Mapping[str, Any]) -> dict[str, str]:
    """The architectures, and how many of equal weight would say as much where they have weights."""
    effective = {"eff.": f"{row['effective']:.1f}"} if "effective" in row else {}
    return {"n": str(row["n"]), **effective}


def _p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else number(p, 3)


ROWS = {
    "correlations": _pair,
    "match": _match,
    "proxies": _proxy,
    "drivers": _driver,
    "noise": _noise,
}
LEFT = ("dataset", "and", "target", "closest", "proxy", "parameter", "stage")
