"""The comparison of design spaces for people: tables that fit a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from anynet_study.cli.tables import number

if TYPE_CHECKING:
    import pandas as pd

#: Longest name of a space that is shown whole: in a wide table, in a narrow one.
NAMES = (18, 14)
#: Blanks between columns.
GAP = 2
#: At most so many sizes of a random search.
SIZES = 4


def print_summary_table(console: Console, table: "pd.DataFrame", weighted: bool) -> None:
    """One row a space."""

    def rows(join: str, name: int) -> Iterable[dict[str, str]]:
        for row in table.to_dict("records"):
            counts = {"models": str(row["n"]), "missing": str(row["missing"])}
            if weighted:
                counts["worth"] = number(row["effective"], 0)
            yield {
                "space": _short(row["space"], name),
                **counts,
                "mean error": _interval(row, "mean", join),
                "median": _interval(row, "median", join),
                "best": number(row["best"]),
            }

    _print(console, "Errors (%)", rows)


def print_pairs(console: Console, table: "pd.DataFrame") -> None:
    """One row a pair of spaces."""

    def rows(join: str, name: int) -> Iterable[dict[str, str]]:
        for row in table.to_dict("records"):
            a, b = _short(row["a"], name), _short(row["b"], name)
            yield {
                **({"a": a, "b": b} if join == " " else {"a, b": f"{a}\n{b}"}),
                "mean a - b": _interval(row, "mean_difference", join),
                "median a - b": _interval(row, "median_difference", join),
                "P(a better)": _interval(row, "probability", join),
                "KS": number(row["ks"]),
                "p": "<0.001" if row["p_holm"] < 0.001 else number(row["p_holm"], 3),
            }

    _print(console, "Differences (percentage points)", rows)
    corrected = f", corrected for {len(table)} pairs" if len(table) > 1 else ""
    _say(console, "P(a better): a random model of a errs less than a random one of b")
    _say(console, f"KS: Kolmogorov-Smirnov distance of the EDFs; p: its p-value{corrected}")


def print_search(console: Console, table: "pd.DataFrame") -> None:
    """One row a space, one column a number of models drawn."""
    common = table.dropna().groupby("size")["space"].nunique()
    sizes = [size for size in common.index[common == table["space"].nunique()] if size > 1]
    if not sizes:
        return

    def rows(join: str, name: int) -> Iterable[dict[str, str]]:
        for space, part in table.groupby("space", sort=False):
            found = part.set_index("size").to_dict("index")
            cells = {f"of {m}": _interval(found[m], "error", join) for m in sizes[-SIZES:]}
            yield {"space": _short(str(space), name), **cells}

    _print(console, "Expected error (%) of the best of m random models", rows)


def print_ranges(console: Console, table: "pd.DataFrame", models: "pd.DataFrame") -> None:
    """One row a parameter of the models of a single space."""

    def rows(join: str, name: int) -> Iterable[dict[str, str]]:
        for row in table.to_dict("records"):
            values = models[row["parameter"]]
            yield {
                "parameter": row["parameter"],
                "best value": amount(row["best"]),
                "good range": f"{amount(row['low'])} to {amount(row['high'])}",
                "all models": f"{amount(values.min())} to {amount(values.max())}",
                "n": str(row["n"]),
            }

    _print(console, "Where the best of a quarter of the models, redrawn, lie", rows)


def _print(console: Console, title: str, rows: Any) -> None:
    """Print the first layout of the rows that fits: intervals beside or below their estimates."""
    for join, name in ((" ", NAMES[0]), ("\n", NAMES[0]), ("\n", NAMES[1])):
        cells = list(rows(join, name))
        if _width(cells) <= console.width:
            break
    console.print(f"\n[bold]{escape(title)}[/bold]", highlight=False)
    console.print(_grid(cells), highlight=False)


def _width(rows: Sequence[Mapping[str, str]]) -> int:
    lines = {column: [column] for column in rows[0]}
    for row in rows:
        for column, cell in row.items():
            lines[column] += cell.split("\n")
    return sum(max(map(len, each)) + GAP for each in lines.values()) - GAP


def _grid(rows: Sequence[Mapping[str, str]]) -> Table:
    grid = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for column in rows[0]:
        left = column in ("space", "a", "b", "a, b", "parameter")
        grid.add_column(column, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*map(escape, row.values()))
    return grid


def _interval(row: Mapping[str, Any], name: str, join: str) -> str:
    prefix = "" if name == "error" else f"{name}_"
    low, high = number(row[f"{prefix}low"]), number(row[f"{prefix}high"])
    return f"{number(row[name])}{join}[{low}, {high}]"


def amount(value: float, digits: int = 4) -> str:
    """A few digits and k, M or G: 1.234M."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            return f"{value / (1e3 if suffix == 'k' else unit):.{digits}g}{suffix}"
    return f"{value:.{digits}g}"


def _short(name: str, width: int) -> str:
    """A name on one line, cut in the middle if it is long."""
    if len(name) <= width:
        return name
    tail = width // 2 - 1
    return name[: width - 1 - tail] + "…" + name[len(name) - tail :]


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False)
