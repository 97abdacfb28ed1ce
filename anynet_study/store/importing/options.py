"""How tables are read: what a user declares of them, and the account of what was found."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from anynet_study.core.errors import UserError, some_of
from anynet_study.store.importing.words import Quantity

Unit = Literal["percent", "fraction"]

#: What is written between two columns that name a model together.
AND = "+"
#: Stands for the name of a dataset in the names of columns that are declared; and for the number of
#: a training.
ANY, NUMBER = "*", "#"
#: Columns of a run that only long tables have.
LONG_ONLY = ("metric", "seconds", "started", "host", "device", "torch_version", "code_version")
RUN_COLUMNS = ("replicate", "recipe", *LONG_ONLY)
#: Of an error that is the mean over trainings: their standard deviation and number.
SPREAD = ("std", "n")
#: What a model costs, under the names that analyses know.
SIZES = ("parameters", "flops", "activations")
MAPPABLE = ("model", "dataset", "error", "accuracy", *SPREAD, *RUN_COLUMNS, *SIZES)


@dataclass(frozen=True)
class ImportOptions:
    """How tables are read; what is left out is found out from the tables, or refused."""

    #: Our names of columns to those of the files: model, dataset, error, accuracy, replicate, ...
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Columns that describe the models, and columns to leave out.
    describe: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    #: Of a wide table the columns that are datasets; all others describe the models then.
    datasets: tuple[str, ...] = ()
    #: Columns that hold errors, in a table whose other datasets are accuracies.
    errors: tuple[str, ...] = ()
    #: Rows that are no models, by name; "none" says that all are.
    ignore_rows: tuple[str, ...] = ()
    #: Of several rows of one model, the one with the highest number in this column counts.
    last: str = ""
    #: Whether rows are datasets, and columns models.
    transpose: bool | None = None
    #: The dataset of a table of one column of values; "": what the table calls it.
    dataset: str = ""
    quantity: Quantity | None = None
    #: What values are where nothing says it, unless they look like the other; None: refused.
    assumed: Quantity | None = None
    unit: Unit | None = None
    #: Of the values, such as "top1"; of a table with a column metric, the rows to read.
    metric: str | None = None
    #: Name of the recipe that the models were trained with, where no column says.
    recipe: str = "imported"
    #: Of CSV files; "" finds out.
    separator: str = ""
    encoding: str = ""

    @property
    def top(self) -> float:
        """The highest value that an accuracy or an error has."""
        return 1.0 if self.unit == "fraction" else 100.0

    def told(self) -> dict[str, Any]:
        """Return what was said, for the provenance."""
        return {name: value for name, value in asdict(self).items() if value}


def matched(pattern: str, column: str) -> tuple[str, str] | None:
    """Return what stands for the * and the # where a column's name is as the pattern says; else
    None.

    >>> matched("*_std", "cars_std"), matched("Run #", "Run 2"), matched("*_std", "cars")
    (('cars', ''), ('', '2'), None)
    """
    if not {ANY, NUMBER} & {*pattern}:
        return None
    plain = re.escape(pattern).replace(re.escape(ANY), "(?P<any>.+)", 1)
    found = re.fullmatch(plain.replace(re.escape(NUMBER), r"(?P<number>\d+)", 1), column)
    told = found.groupdict() if found else {}
    return (told.get("any", ""), told.get("number", "")) if found else None


class TableAccount(BaseModel):
    """What each column of a table of results was taken for."""

    model_config = ConfigDict(frozen=True)

    file: str
    #: The column that names the models, and how many there are.
    models_from: str
    models: int
    #: The median error of each in percent.
    datasets: dict[str, float]
    #: Whether each row is a run, not a model.
    long: bool
    quantity: Quantity
    unit: Unit
    #: Columns of the run, ours to the table's.
    run_columns: dict[str, str]
    #: In words: which columns are the spread over trainings, and which may be but are not used.
    spread: str
    #: Columns that describe the models, and columns that were left out.
    describing: tuple[str, ...]
    ignored: tuple[str, ...]
    #: What a user should know, one line each.
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The account for a terminal."""
        medians = some_of(f"{name} {median:.4g}" for name, median in self.datasets.items())
        run = ", ".join(f"{ours} from {theirs}" for ours, theirs in self.run_columns.items())
        return [
            f"{self.file}: {'one row per run' if self.long else 'one row per model'}",
            f"models: {self.models:,} from column {self.models_from!r}",
            f"values: {self.quantity}, read as {self.unit}",
            f"datasets: {len(self.datasets)}, median error in percent: {', '.join(medians)}",
            f"columns of the runs: {run or 'none'}",
            f"spread over trainings: {self.spread}",
            f"columns that describe models: {', '.join(self.describing) or 'none'}",
            f"columns left out: {', '.join(self.ignored) or 'none'}",
            *(f"note: {note}" for note in self.notes),
        ]


def require_declared(path: Path, columns: Collection[str], options: ImportOptions) -> None:
    """UserError for what is declared of no column, and for half a declaration of a spread."""
    for role in options.columns:
        if role not in MAPPABLE:
            raise UserError(f"--map: unknown {role!r}; choose from {', '.join(MAPPABLE)}")
    if len(there := options.columns.keys() & {*SPREAD}) == 1:
        raise UserError(
            f"--map {min(there)}: a spread over trainings is declared by std=COLUMN and "
            "n=COLUMN_OR_NUMBER, their standard deviation and how many they are"
        )
    named = [
        name
        for role, name in options.columns.items()
        if not (role == "n" and name.isdecimal())
        and not (role in SPREAD and any(matched(name, column) for column in columns))
    ]
    require_columns("--map", path, named, columns)
    require_columns("--describe", path, options.describe, columns)
    require_columns("--ignore", path, options.ignore, columns)
    require_columns("--dataset-columns", path, options.datasets, columns)
    require_columns("--error-columns", path, options.errors, columns)
    require_columns("--last", path, [options.last] * bool(options.last), columns)


def require_columns(
    option: str, path: Path, names: Collection[str], columns: Collection[str]
) -> None:
    """UserError for the first of the names given to an option that is no column."""
    for name in names:
        if name not in columns:
            there = ", ".join(some_of(columns))
            raise UserError(f"{option}: {path} has no column {name!r}; its columns: {there}")
