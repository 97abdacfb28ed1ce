"""What the columns of a table are to its structure: what names models, datasets, runs, values.

Which columns of numbers are datasets is for `evidence` to say.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.sheets import Sheet, column_called, normal_form, quoted
from anynet_study.store.importing.options import (
    RUN_COLUMNS,
    SIZES,
    SPREAD,
    ImportOptions,
    matched,
    require_declared,
)
from anynet_study.store.importing.words import Called, Quantity

#: Names by which a column is known, in normal form, the likelier ones first.
ALIASES = {
    "model": ("architecture", "model", "network", "arch", "arch_str", "model_name", "name"),
    "dataset": ("dataset", "test_set", "testset", "task", "dataset_name"),
    "error": ("error", "err", "test_error", "top1_error", "error_rate"),
    "accuracy": ("accuracy", "acc", "test_accuracy", "test_acc", "top1_accuracy"),
    "replicate": ("replicate", "seed"),
}
#: Of a tidy table: the column of values whose meaning the column metric says.
VALUES = ("value", "score", "result")
#: Columns that describe a model and are no errors on a dataset of that name.
NUMBERS = ("stem_width", "se_ratio", "weight", "sampling_weight", *SIZES)
#: First columns of numbers that may name the models; and those that only count rows.
OF_IDS = ("id", "index", "no", "nr", "number", "key", "uid")
OF_ROWS = ("", "unnamed_0")
#: Columns that count the passes of one training.
OF_PASSES = ("epoch", "step", "iteration", "iter", "epochs")
#: A cell that says when, not which.
WHEN = re.compile(r"\d{4}-\d\d-\d\d.*|\d+ days.*|\d+:\d+.*")
#: Where d1 and w1 are there, so are columns of stages: depth, width, ratio, group width, stride.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")


def stage_columns(columns: Collection[str]) -> list[str]:
    """List the columns that describe stages of networks; none unless d1 and w1 say that they do."""
    staged = set(columns) >= STAGES_TOLD_BY
    return [name for name in columns if staged and STAGE.fullmatch(name)]


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table."""

    model: str
    #: Both "": the table is wide, one column per dataset.
    dataset: str
    value: str
    #: What the name of the value's column says it is.
    quantity: Quantity | None
    #: Columns of the run: ours to the table's.
    run: Mapping[str, str]
    #: Columns that describe the model in numbers.
    numbers: tuple[str, ...]
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
    require_declared(path, columns, options)
    told = {role: name for role, name in options.columns.items() if role not in SPREAD}
    spread = [options.columns[role] for role in SPREAD if role in options.columns]
    used = {c for c in columns for name in spread if c == name or matched(name, c)}
    free = [c for c in columns if c not in {*used, *options.ignore, *options.describe}]
    roles = dict(told)
    for role, names in ALIASES.items():
        left = [name for name in free if name not in roles.values()]
        if role == "model":  # a column of links may be called so
            left = [name for name in left if not _is_constant(sheet, name)]
        if role not in roles and (found := column_called(left, names)) is not None:
            roles[role] = found
    values = {str(role): roles[role] for role in ("error", "accuracy") if role in roles}
    tidy = "" if values else column_called(free, VALUES) or ""
    tidy = tidy if roles.get("metric", column_called(free, ("metric",))) else ""
    long = "dataset" in roles and bool(tidy or values)
    if not long and ("dataset" in roles or told.keys() & values.keys()):
        missing = "error=COLUMN or accuracy=COLUMN" if "dataset" in roles else "dataset=COLUMN"
        raise UserError(
            f"{path}: a long table needs --map {missing} too; its columns: "
            f"{', '.join(some_of(columns))} (a table with a row for each dataset and a column for "
            "each model: swap its rows and columns by --transpose)"
        )
    if not long:
        _ask_of_trackers(sheet, [name for name in free if name not in roles.values()], told)
    model = roles.get("model") or _naming(sheet, [n for n in free if n not in roles.values()])
    quantity = _quantity(sheet, values, told, options) if long and not tidy else None
    run = {role: roles.get(role) or column_called(free, (role,)) for role in RUN_COLUMNS}
    of_run = {r: name for r, name in run.items() if name and (long or r in RUN_COLUMNS[:2])}
    value = (tidy or values[quantity or "error"]) if long else ""
    core = {model, *of_run.values(), roles["dataset"] if long else model, value, f"{value}_std"}
    rest = [name for name in free if name not in core]
    if counting := "" in rest:
        if not _counts_rows(sheet):
            raise UserError(f"{path}: column {1 + columns.index('')} has no name; give it one")
        rest.remove("")
    numbers = {*NUMBERS, *stage_columns(rest)} - {*declared, *options.datasets}
    return Roles(
        model=model,
        dataset=roles["dataset"] if long else "",
        value=value,
        quantity=quantity,
        run=of_run,
        numbers=tuple(name for name in rest if name in numbers),
        others=tuple(name for name in rest if name not in numbers),
        counting=counting,
    )


def _ask_of_trackers(sheet: Sheet, free: Sequence[str], told: Collection[str]) -> None:
    """UserError where trackers of runs write which column names datasets: config/dataset and
    params.dataset are such, and the names of their rows are those of runs.
    """
    last = {re.split(r"[/.]", name)[-1]: name for name in free if re.search(r"[/.]", name)}
    found = {role: column_called(last, names) for role, names in ALIASES.items()}
    roles = {role: last[tail] for role, tail in found.items() if tail and role not in told}
    if "dataset" not in roles or len({*sheet.columns[roles["dataset"]]}) < 2:
        return
    measured = [one for one in map(Called.of, free) if one.quantity]
    measured.sort(key=lambda one: one.part or (0,))
    if not {"error", "accuracy"} & roles.keys():
        roles |= {str(one.quantity): one.name for one in measured[:1]} or {"accuracy": "COLUMN"}
    pairs = [f"{role}={name}" for role, name in roles.items()]
    raise UserError(
        f"{sheet.path}: column {roles['dataset']!r} names datasets: a row for each training? --map "
        f"{quoted(pairs)} reads it so (or another column of errors or accuracies), --describe "
        f"{quoted([roles['dataset']])} takes it for a description"
    )


def _is_constant(sheet: Sheet, name: str) -> bool:
    """Tell whether several rows say the same."""
    first, *others = sheet.columns[name] or [None]
    return bool(others) and all(cell == first for cell in others)


def _counts_rows(sheet: Sheet) -> bool:
    """Tell whether the column without a name is the index that a data frame writes: in each row a
    whole number of its own, in any order.
    """
    numbers = sheet.read_as_numbers("")
    return len({*numbers.tolist()}) == len(sheet) and bool((numbers % 1 == 0).all())


def _naming(sheet: Sheet, free: list[str]) -> str:
    """The column that names the models: the first one, or the one of texts beside row numbers.

    UserError where the first holds numbers that are no ids, or only counts rows.
    """
    if not free:
        return ""
    first, form = free[0], normal_form(free[0])
    if form in OF_IDS or not len(sheet) or np.isinf(sheet.read_as_numbers(first)).any():
        return first
    texts = [name for name in free if sheet.is_text(name)]
    naming = [n for n in texts if len({*sheet.columns[n]}) == len(sheet)]
    naming = [n for n in naming if not any(WHEN.fullmatch(str(c)) for c in sheet.columns[n])]
    if form in OF_ROWS and (not texts or len(naming) == 1):
        return naming[0] if texts else first
    hint = f" such as --map model={quoted(naming[:1] or texts[:1])}" if texts else ""
    passes = column_called(free, OF_PASSES)
    if passes:
        hint += f"; a row for each {passes} is the history of one model: its table needs a row per "
        hint += "model"
    raise UserError(
        f"{sheet.path}: the first column, {first!r}, holds numbers, no names of models; say "
        f"which column names them with --map model=COLUMN{hint}"
    )


def _quantity(
    sheet: Sheet, values: Mapping[str, str], told: Collection[str], options: ImportOptions
) -> Quantity:
    """Tell which of the columns error and accuracy holds the values of a long table."""
    there = {role for role in values if role in told} or {*values}
    if len(there) == 2 and options.quantity:
        there = {options.quantity}
    if len(there) == 2:
        raise UserError(
            f"{sheet.path}: has both errors ({values['error']}) and accuracies "
            f"({values['accuracy']}); say which to import with --error or --accuracy"
        )
    (quantity,) = there
    if options.quantity not in (None, quantity) and quantity not in told:
        raise UserError(
            f"{sheet.path}: --{options.quantity}, but its values are in the column "
            f"{values[quantity]!r}; if it does hold them: --map "
            f"{options.quantity}={values[quantity]}"
        )
    return "error" if quantity == "error" else "accuracy"
