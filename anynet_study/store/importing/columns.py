"""How a table is read: what is declared of it, and the columns that its structure needs.

Which columns of numbers are datasets is for `evidence` to say.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.sheets import Sheet, column_called, normal_form, quoted

Quantity = Literal["error", "accuracy"]
Unit = Literal["percent", "fraction"]


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

    def told(self) -> dict[str, Any]:
        """Return what was said, for the provenance."""
        return {name: value for name, value in asdict(self).items() if value}


#: Names by which a column is known, in normal form, the likelier ones first.
ALIASES = {
    "model": ("architecture", "model", "network", "arch", "arch_str", "model_name", "name"),
    "dataset": ("dataset", "test_set", "testset", "task", "dataset_name"),
    "error": ("error", "err", "test_error", "top1_error", "error_rate"),
    "accuracy": ("accuracy", "acc", "test_accuracy", "test_acc", "top1_accuracy"),
    "replicate": ("replicate", "seed"),
    "recipe": ("recipe",),
}
#: Of a tidy table: the column of values whose meaning the column metric says.
VALUES = ("value", "score", "result")
#: Columns of a run that only long tables have.
LONG_ONLY = ("metric", "seconds", "started", "host", "device", "torch_version", "code_version")
RUN_COLUMNS = ("replicate", "recipe", *LONG_ONLY)
#: Of an error that is the mean over trainings: their standard deviation and number.
SPREAD = ("std", "n")
#: What a model costs, under the names that analyses know.
SIZES = ("parameters", "flops", "activations")
MAPPABLE = ("model", "dataset", "error", "accuracy", *SPREAD, *RUN_COLUMNS, *SIZES)

#: Columns that describe a model and are no errors on a dataset of that name.
NUMBERS = ("stem_width", "se_ratio", "weight", "sampling_weight", *SIZES)
#: First columns of numbers that may name the models; and those that only count rows.
OF_IDS = ("id", "index", "no", "nr", "number", "key", "uid")
OF_ROWS = ("", "unnamed_0")
#: A cell that says when, not which.
WHEN = re.compile(r"\d{4}-\d\d-\d\d.*|\d+ days.*|\d+:\d+.*")
#: What is written between two columns that name a model together.
AND = "+"
#: Stands for the name of a dataset in the names of columns that are declared; and for the number of
#: a training.
ANY, NUMBER = "*", "#"
#: Where d1 and w1 are there, so are columns of stages: depth, width, ratio, group width, stride.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")


def stage_columns(columns: Collection[str]) -> list[str]:
    """List the columns that describe stages of networks; none unless d1 and w1 say that they do."""
    staged = set(columns) >= STAGES_TOLD_BY
    return [name for name in columns if staged and STAGE.fullmatch(name)]


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


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table."""

    model: str
    #: Both None: the table is wide, one column per dataset.
    dataset: str | None
    value: str | None
    #: What the name of the value's column says it is.
    quantity: Quantity | None
    #: Columns of the run: ours to the table's.
    run: Mapping[str, str]
    #: Columns known to describe the model: those that have to be numbers, and any others.
    numbers: tuple[str, ...]
    described: tuple[str, ...]
    #: Wide: datasets, or descriptions. Long: they describe the model if they can.
    others: tuple[str, ...]
    #: Whether there is a column without a name that counts the rows, and says nothing.
    counting: bool


def roles_of(sheet: Sheet, options: ImportOptions, declared: Collection[str] = ()) -> Roles:
    """Find out the roles. What is `declared` to be a dataset is one, whatever its name says.

    Raises UserError if a name given to --map, --describe or --ignore is no column, and for what
    is ambiguous.
    """
    path, columns = sheet.path, [*sheet.columns]
    _check_told(path, columns, options)
    roles = {role: name for role, name in options.columns.items() if role not in SPREAD}
    spread = [options.columns[role] for role in SPREAD if role in options.columns]
    used = {c for c in columns for name in spread if c == name or matched(name, c)}
    used |= {*options.ignore, *options.describe}
    free = [name for name in columns if name not in used]
    for role in ("model", "dataset", "error", "accuracy"):
        left = [name for name in free if name not in roles.values()]
        if role == "model":  # a column of links may be called so
            left = [n for n in left if len(sheet) < 2 or len({*sheet.columns[n]}) > 1]
        found = _known(role, left)
        if role not in roles and found is not None:
            roles[role] = found
    told = {role for role in ("error", "accuracy") if role in options.columns}
    values = column_called(free, VALUES) if {"error", "accuracy"}.isdisjoint(roles) else None
    tidy = values is not None and _known("metric", free) is not None
    long = "dataset" in roles and (tidy or bool({"error", "accuracy"} & set(roles)))
    if not long and (told or "dataset" in roles):
        missing = "error=COLUMN or accuracy=COLUMN" if "dataset" in roles else "dataset=COLUMN"
        raise UserError(
            f"{path}: a long table needs --map {missing} too; {_listed(columns)} (a table with a "
            "row for each dataset and a column for each model: swap its rows and columns by "
            "--transpose)"
        )
    if "model" not in roles:
        roles["model"] = _names(sheet, [name for name in free if name not in roles.values()])
    quantity = _quantity(path, roles, told, options) if long and not tidy else None
    value = values if long and tidy else roles[quantity] if quantity else None
    wanted = RUN_COLUMNS if long else ("replicate", "recipe")
    run = {role: name for role in wanted if (name := roles.get(role) or _known(role, free))}
    core = {roles["model"], *run.values(), value, f"{value}_std"}
    core |= {roles["dataset"]} if long else set()
    rest = [name for name in free if name not in core]
    if counting := "" in rest:
        if not _counts_rows(sheet):
            raise UserError(f"{path}: column {1 + columns.index('')} has no name; give it one")
        rest.remove("")
    known = {*NUMBERS, *stage_columns(rest)} - {*declared, *options.datasets}
    return Roles(
        model=roles["model"],
        dataset=roles["dataset"] if long else None,
        value=value,
        quantity=quantity,
        run=run,
        numbers=tuple(name for name in rest if name in known),
        described=options.describe,
        others=tuple(name for name in rest if name not in known),
        counting=counting,
    )


def _counts_rows(sheet: Sheet) -> bool:
    """Tell whether the column without a name is the index that a data frame writes: in each row a
    whole number of its own, in any order.
    """
    numbers = sheet.read_as_numbers("")
    return len({*numbers.tolist()}) == len(sheet) and bool((numbers % 1 == 0).all())


def _names(sheet: Sheet, free: list[str]) -> str:
    """The column that names the models: the first one, or the one of texts beside row numbers.

    UserError where the first holds numbers that are no ids, or only counts rows.
    """
    if not free:
        return ""
    texts_in = np.isinf(sheet.read_as_numbers(free[0])).any()
    if texts_in or not len(sheet) or normal_form(free[0]) in OF_IDS:
        return free[0]
    texts = [name for name in free if sheet.is_text(name)]
    naming = [n for n in texts if len({*sheet.columns[n]}) == len(sheet)]
    naming = [n for n in naming if not any(WHEN.fullmatch(str(c)) for c in sheet.columns[n])]
    if normal_form(free[0]) in OF_ROWS and not texts:
        return free[0]
    if normal_form(free[0]) in OF_ROWS and len(naming) == 1:
        return naming[0]
    hint = f" such as --map model={quoted(naming[:1] or texts[:1])}" if texts else ""
    epochs = column_called(free, ("epoch", "step", "iteration"))
    told = (
        f"; a row for each {epochs} is the history of one model: its table needs a row per model"
        if epochs
        else ""
    )
    raise UserError(
        f"{sheet.path}: the first column, {free[0]!r}, holds numbers, no names of models; say "
        f"which column names them with --map model=COLUMN{hint}{told}"
    )


def _check_told(path: Path, columns: Collection[str], options: ImportOptions) -> None:
    for role in options.columns:
        if role not in MAPPABLE:
            raise UserError(f"--map: unknown {role!r}; choose from {', '.join(MAPPABLE)}")
    there = options.columns.keys() & {*SPREAD}
    if len(there) == 1:
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
    asked = {
        "--map": named,
        "--describe": options.describe,
        "--ignore": options.ignore,
        "--dataset-columns": options.datasets,
        "--error-columns": options.errors,
        "--last": [options.last] if options.last else [],
    }
    for option, names in asked.items():
        require_columns(option, path, names, columns)


def require_columns(
    option: str, path: Path, names: Collection[str], columns: Collection[str]
) -> None:
    """UserError for the first of the names given to an option that is no column."""
    for name in names:
        if name not in columns:
            raise UserError(f"{option}: {path} has no column {name!r}; {_listed(columns)}")


def _known(role: str, columns: Collection[str]) -> str | None:
    return column_called(columns, ALIASES.get(role, (role,)))


def _quantity(
    path: Path, roles: Mapping[str, str], told: set[str], options: ImportOptions
) -> Quantity:
    """Tell which of the columns error and accuracy holds the values of a long table."""
    there = told or {role for role in ("error", "accuracy") if role in roles}
    if len(there) == 2 and options.quantity:
        there = {options.quantity}
    if len(there) == 2:
        raise UserError(
            f"{path}: has both errors ({roles['error']}) and accuracies ({roles['accuracy']}); "
            f"say which to import with --error or --accuracy"
        )
    (quantity,) = there
    if options.quantity not in (None, quantity) and quantity not in told:
        raise UserError(
            f"{path}: --{options.quantity}, but its values are in the column {roles[quantity]!r}; "
            f"if it does hold them: --map {options.quantity}={roles[quantity]}"
        )
    return "error" if quantity == "error" else "accuracy"


def _listed(columns: Collection[str]) -> str:
    return f"its columns: {', '.join(some_of(columns))}"
