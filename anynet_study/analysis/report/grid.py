"""Tables for people, in which an estimate and its interval are one cell; and facts of a study."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import pandas as pd
from pandas.api import types

from anynet_study.analysis.analysis import Analysis
from anynet_study.analysis.plots import wording

NO_INTERVAL = "(no interval)"
WHY_NO_INTERVAL = (
    "no interval: there are too few architectures, or their errors are so alike that most "
    "resamples, or all but one architecture, rank nothing"
)
#: Names of columns with p-values, and prefixes of columns with numbers from 0 to 1.
P_VALUE = re.compile(r"(\w+_)?p(_\w+)?")
SHARES = ("probability", "share", "improved", "swapped")
#: Ends of the names of columns that are whole with whole intervals.
RANKS = ("rank", "rank_change")


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first `names` columns hold names, the others numbers."""

    headings: list[str]
    rows: list[list[str]]
    names: int = 1

    @property
    def lacks_intervals(self) -> bool:
        """Tell whether a cell says that it has no interval."""
        return any(NO_INTERVAL in cell for row in self.rows for cell in row)


def grid_of(
    table: pd.DataFrame, kind: Analysis[Any], estimate: str = "", separator: str = " "
) -> Grid:
    """The table of an analysis as people see it.

    `estimate` is what a page calls a correlation ("ρ") in the heading of the column of that name;
    `separator` stands between an estimate and its interval.
    """
    headings = dict(kind.headings)
    if estimate:
        said = headings.get("estimate", "correlation")
        headings["estimate"] = said.replace("correlation", estimate)
    return plain_grid(kind.arrange(table), headings, separator)


def plain_grid(
    table: pd.DataFrame, headings: Mapping[str, str] | None = None, separator: str = " "
) -> Grid:
    """Any table: columns x_low and x_high are the interval of x, low and high that of estimate."""
    headings = headings or {}
    columns: dict[str, list[str]] = {}
    names, leading = 0, True
    for name in map(str, table.columns):
        heading = headings.get(name, name.replace("_", " "))
        if not heading or _is_end(name, table) or _says_nothing(name, table):
            continue
        columns[heading] = _cells(table, name, separator)
        leading = leading and not types.is_numeric_dtype(table[name])
        names += leading
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Grid(list(columns), rows, max(1, names))


def _says_nothing(name: str, table: pd.DataFrame) -> bool:
    """Tell whether people are spared a column: that of one text, or of numbers of which none is
    known, beside others that are.
    """
    if name == "scale":  # remarks say it
        return "scale" in table.attrs
    if name == "note":
        return bool(table[name].eq("").all())
    numbers = table.select_dtypes("float")
    is_bare = name in numbers and not {f"{name}_low", f"{name}_high"} & set(table)
    return is_bare and bool(numbers[name].isna().all() and numbers.notna().any(axis=None))


def merge_repeats(grid: Grid) -> Grid:
    """Write a repeated name in the first column only once, above its rows."""
    before, rows = None, []
    for row in grid.rows:
        rows.append(["" if row[0] == before else row[0], *row[1:]])
        before = row[0]
    return replace(grid, rows=rows)


def markdown(grid: Grid) -> str:
    """A table of GitHub's Markdown, without a line end."""
    sides = ["---" if column < grid.names else "---:" for column in range(len(grid.headings))]
    lines = [" | ".join(row).replace("\n", " ") for row in [grid.headings, sides, *grid.rows]]
    return "\n".join(f"| {line} |" for line in lines)


def with_tables(page: str, new: Mapping[str, str]) -> str:
    """A page of Markdown with the `new` tables in place of those that follow their titles.

    A title stands in italics in a paragraph of its own. Raises ValueError for a title that is not
    there exactly once.
    """
    for title, table in new.items():
        place = rf"(\*{re.escape(title)}\*\n\n)(\|.*\n)*\n?"
        page, count = re.subn(place, rf"\g<1>{table}\n\n", page)
        if count != 1:
            raise ValueError(f"the page has the title *{title}* {count} times, instead of once")
    return page


def _interval_of(table: pd.DataFrame) -> str:
    """The column that low and high belong to: the estimate, or else the column before them."""
    if "estimate" in table or "low" not in table:
        return "estimate"
    return str(table.columns[max(0, list(table.columns).index("low") - 1)])


def _is_end(name: str, table: pd.DataFrame) -> bool:
    """Tell whether a column is shown with that of its estimate."""
    if name in ("low", "high"):
        return _interval_of(table) in table
    base = name.removesuffix("_low").removesuffix("_high")
    return base != name and (base == "fisher" or (base in table and _is_number(table[base])))


def _is_number(column: pd.Series) -> bool:
    """Tell whether a column has numbers; a verdict's interval is shown beside the verdict."""
    return all(isinstance(value, Real) for value in column.dropna())


def _cells(table: pd.DataFrame, name: str, separator: str) -> list[str]:
    own = name == _interval_of(table)
    low, high = ("low", "high") if own else (f"{name}_low", f"{name}_high")
    if low not in table or not _is_number(table[name]):
        return [_cell(name, value) for value in table[name]]
    ends = zip(table[name], table[low], table[high], strict=True)
    digits = 0 if name.endswith(RANKS) else 2
    return [with_interval(*values, separator, digits) for values in ends]


def with_interval(
    estimate: float, low: float, high: float, separator: str = " ", digits: int = 2
) -> str:
    """`0.81 [0.62, 0.91]`; `– [0.62, 1.00]` of what is not known but for its interval."""
    if pd.notna(low) and pd.notna(high):
        return wording.estimate(estimate, low, high, digits, separator)
    value = wording.number(estimate, digits)
    return value if pd.isna(estimate) else f"{value}{separator}{NO_INTERVAL}"


def _cell(name: str, value: Any) -> str:
    if not types.is_scalar(value):
        return str(value)
    if pd.isna(value):
        return "–"
    if types.is_bool(value):
        return "yes" if value else "no"
    if not types.is_number(value):
        return str(value)
    if types.is_integer(value):
        return f"{value:,}"
    if P_VALUE.fullmatch(name):
        return p_value(value)
    if name.startswith(SHARES):
        return f"{100 * value:.0f}%"
    if name == "effective":
        return f"{value:.1f}"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return wording.number(value)


def p_value(p: float) -> str:
    """Write a p-value; "–" where there is none."""
    if pd.isna(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def error_grid(errors: pd.DataFrame, datasets: pd.DataFrame) -> Grid:
    """The spread of the errors on each dataset."""
    chance = dict(zip(datasets["dataset"], datasets["chance"], strict=True))
    rows = []
    for name in errors.columns:
        known = errors[name].dropna()
        quantiles = known.quantile([0, 0.25, 0.5, 0.75, 1])
        cells = ["–" if pd.isna(value) else f"{value:.2f}" for value in quantiles]
        guess = f"{chance[name]:.1f}" if pd.notna(chance.get(name)) else "–"
        rows.append([name, *cells, guess, str(len(known))])
    headings = ["dataset", "lowest", "lower quartile", "median", "upper quartile", "highest"]
    return Grid([*headings, "guessing", "n"], rows)


def dataset_grid(datasets: pd.DataFrame) -> Grid:
    """Return what the networks were trained and tested on."""
    rows = [
        [
            row["dataset"],
            row["role"],
            row["base"],
            *(_count(row[name]) for name in ("classes", "train_images", "test_images")),
            wording.metric_name(row["metric"]).strip(),
            _count(row["epochs"]),
        ]
        for _, row in datasets.iterrows()
    ]
    headings = ["dataset", "role", "of", "classes", "training images", "test images"]
    return Grid([*headings, "error", "epochs"], rows, names=3)


def _count(count: float) -> str:
    """Write a count; for imported results, some are unknown."""
    return "–" if pd.isna(count) else f"{int(count):,}"


def text_grid(table: pd.DataFrame, names: int = 1) -> Grid:
    """A table of counts and texts as it is."""
    return Grid(list(table.columns), table.astype(str).to_numpy().tolist(), names)


def facts_grid(facts: dict[str, str]) -> Grid:
    """Names and values, without a heading."""
    return Grid([], [[name, value] for name, value in facts.items()], names=2)
