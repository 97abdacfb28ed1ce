"""The parts that analyses are built of: tables of several parts, room on a figure, phrases."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from anynet_study.analysis.analysis import check_room
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, UserError

#: Tables by what tells them apart, each made when it is its turn.
Parts = dict[tuple[str, ...], Callable[[], pd.DataFrame]]

#: Datasets that a figure has room for.
MOST_IN_MATRIX = 20
MOST_IN_HEATMAP = 60
#: How points of the best and worst are marked; {of} is where they are the best.
MARKED = (
    "{{rho}}: {{correlation}}, with its {{level}} bootstrap interval. Orange triangles: the ten "
    "lowest errors on the {of}; red crosses: the ten highest (a quarter of the architectures at "
    "most). Errors far above all others, such as those of diverged runs, are off the scale and "
    "drawn at the edge."
)


def stacked(
    keys: Sequence[str], parts: Parts, report: Callable[[float], None] = lambda share: None
) -> pd.DataFrame:
    """One table of several, told apart by `keys`; a part that is refused is a row that says why.

    `report` is told which share of the parts is made.

    Raises UserError, with the first reason, where all are, and where there are no parts.
    """
    made, refused = [], []
    attrs: dict[object, object] = {}
    averages: list[dict[str, Any]] = []
    for values, make in parts.items():
        try:
            part = make()
            own = dict(zip(keys, values, strict=True))
            averages += [own | row for row in part.attrs.get("averages", [])]
            attrs |= part.attrs
        except DoesNotApplyError as error:
            refused.append(str(error))
            part = pd.DataFrame({"note": [str(error)]})
        named = pd.DataFrame(dict(zip(keys, values, strict=True)), index=part.index)
        made.append(pd.concat([named, part], axis="columns"))
        report(len(made) / len(parts))
    if len(refused) == len(made):
        raise DoesNotApplyError(refused[0] if refused else "there is nothing to compare")
    table = pd.concat([part for part in made if len(part)], ignore_index=True)
    table = table.fillna({"note": ""}) if "note" in table else table
    table.attrs = attrs | ({"averages": averages} if averages else {})
    return table


def one_of(column: str, parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One table of several of the same columns; its first `column` says which a row is of.

    What is said of it as a whole (`attrs`) is what is said of the first.
    """
    table = pd.concat([part.assign(**{column: name}) for name, part in parts.items()])
    table.insert(0, column, table.pop(column))
    table = table.reset_index(drop=True)
    table.attrs = next(iter(parts.values())).attrs
    return table


def with_averages(table: pd.DataFrame, name: str, called: str = "average") -> pd.DataFrame:
    """The table for people: its averages (`attrs`) are last rows, `called` so in column `name`."""
    last = pd.DataFrame(table.attrs.get("averages", []))
    if last.empty:
        return table
    last = last[[column for column in last if column in table]]  # others are not shown
    texts = table.select_dtypes(["object", "string"]).columns.difference(last.columns)
    last = last.assign(**{**dict.fromkeys(texts, ""), name: called})
    return pd.concat([table, last], ignore_index=True)


def drawable_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """The errors of the datasets that have any; a panel each."""
    known = errors.dropna(axis="columns", how="all")
    if known.empty:
        raise DoesNotApplyError("no run has an error")
    check_room(known.shape[1])
    return known


def with_interval(row: pd.Series, name: str = "estimate") -> str:
    """`0.81 [0.62, 0.91]`: a number of a row with its interval.

    Its ends are in x_low and x_high of a number x, or else in low and high.
    """
    before = f"{name}_" if f"{name}_low" in row else ""
    low, high = row[f"{before}low"], row[f"{before}high"]
    if pd.isna(low):
        return f"{wording.number(row[name])} (no interval)"
    return wording.estimate(row[name], low, high)


def described(study: Study, column: str) -> pd.Series:
    """By architecture what a column says of it, such as "parameters" or a column of a table.

    "family", where no column has that name: the letters that the name of a network begins with.
    Raises UserError with the legal names.
    """
    table = study.architectures.set_index("architecture")
    if column == "family" and column not in table and "network" in table:
        table["family"] = table["network"].str.removeprefix("timm:").str.extract("^([A-Za-z]+)")
    if column not in table:
        known = ", ".join(map(str, table)) or "none"
        raise UserError(f"{study.name}: knows no {column} of its architectures; there are {known}")
    return table[column]
