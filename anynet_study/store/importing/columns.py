"""What the columns of a table mean: long or wide, and which column is what."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from anynet_study.errors import UserError

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
    quantity: Quantity | None = None
    unit: Unit | None = None
    #: "top1" or "top5": of the values; of a table with a column metric, the rows to import.
    metric: str | None = None
    #: Name of the recipe that the models were trained with, where no column says.
    recipe: str = "imported"
    #: Of CSV files; "" finds out.
    separator: str = ""
    encoding: str = ""

    def told(self) -> dict[str, Any]:
        """What was said, for the provenance."""
        return {name: value for name, value in asdict(self).items() if value}


#: Names by which a column is known, the likelier ones first; - and blanks count as _.
ALIASES = {
    "model": ("architecture", "model", "network", "arch", "arch_str", "model_name", "name"),
    "dataset": ("dataset", "test_set", "testset", "task", "dataset_name"),
    "error": ("error", "err", "test_error", "top1_error", "error_rate"),
    "accuracy": ("accuracy", "acc", "test_accuracy", "test_acc", "top1_accuracy"),
    "replicate": ("replicate", "seed"),
    "recipe": ("recipe",),
}
#: Columns of a run that only long tables have.
LONG_ONLY = ("metric", "seconds", "started", "host", "device", "torch_version", "code_version")
RUN_COLUMNS = ("replicate", "recipe", *LONG_ONLY)
MAPPABLE = ("model", "dataset", "error", "accuracy", *RUN_COLUMNS)

#: Columns that describe a model and are no errors on a dataset of that name.
NUMBERS = (
    *("stem_width", "se_ratio", "weight", "flops", "parameters", "activations"),
    *("params", "macs", "gflops", "resolution", "year"),
)
TEXTS = ("stem", "block", "source", "family")
#: Where d1 and w1 are there, so are columns of stages: depth, width, ratio, group width, stride.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")


def stage_columns(columns: Collection[str]) -> list[str]:
    """Those that describe the stages of networks; none where d1 and w1 do not say that they do."""
    staged = set(columns) >= STAGES_TOLD_BY
    return [name for name in columns if staged and STAGE.fullmatch(name)]


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
    #: Wide: datasets, and texts that describe the model. Long: they describe it if they can.
    others: tuple[str, ...]


def roles_of(path: Path, columns: Collection[str], options: ImportOptions) -> Roles:
    """Find out the roles.

    Raises UserError if a name given to --map, --describe or --ignore is no column, and for what
    is ambiguous.
    """
    _check_told(path, columns, options)
    free = [name for name in columns if name not in {*options.ignore, *options.describe}]
    roles = dict(options.columns)
    for role in ("model", "dataset", "error", "accuracy"):
        found = _known(role, free, taken=roles.values())
        if role not in roles and found is not None:
            roles[role] = found
    unclaimed = (name for name in free if name not in roles.values())
    roles.setdefault("model", next(unclaimed, ""))
    told = {role for role in ("error", "accuracy") if role in options.columns}
    long = "dataset" in roles and bool({"error", "accuracy"} & set(roles))
    if not long and (told or "dataset" in roles):
        missing = "error=COLUMN or accuracy=COLUMN" if "dataset" in roles else "dataset=COLUMN"
        raise UserError(f"{path}: a long table needs --map {missing} too; {_listed(columns)}")
    quantity = _quantity(path, roles, told, options) if long else None
    wanted = RUN_COLUMNS if long else ("replicate", "recipe")
    run = {role: name for role in wanted if (name := roles.get(role) or _known(role, free))}
    core = {roles["model"], *run.values()} | (
        {roles["dataset"], roles[quantity]} if quantity else set()
    )
    rest = [name for name in free if name not in core and name]
    numbers = tuple(name for name in rest if name in {*NUMBERS, *stage_columns(rest)})
    texts = tuple(name for name in rest if name in TEXTS)
    return Roles(
        model=roles["model"],
        dataset=roles["dataset"] if quantity else None,
        value=roles[quantity] if quantity else None,
        quantity=quantity,
        run=run,
        numbers=numbers,
        described=(*options.describe, *texts),
        others=tuple(name for name in rest if name not in {*numbers, *texts}),
    )


def _check_told(path: Path, columns: Collection[str], options: ImportOptions) -> None:
    for role in options.columns:
        if role not in MAPPABLE:
            raise UserError(f"--map: unknown {role!r}; choose from {', '.join(MAPPABLE)}")
    asked = {
        "--map": options.columns.values(),
        "--describe": options.describe,
        "--ignore": options.ignore,
    }
    for option, names in asked.items():
        for name in names:
            if name not in columns:
                raise UserError(f"{option}: {path} has no column {name!r}; {_listed(columns)}")


def _known(role: str, columns: Collection[str], taken: Collection[str] = ()) -> str | None:
    if role not in ALIASES:
        return role if role in columns else None
    plain = {re.sub(r"[\s-]+", "_", name.casefold()): name for name in columns}
    found = (plain[alias] for alias in ALIASES[role] if alias in plain)
    return next((name for name in found if name not in taken), None)


def _quantity(
    path: Path, roles: Mapping[str, str], told: set[str], options: ImportOptions
) -> Quantity:
    """Which of the columns error and accuracy holds the values of a long table."""
    there = told or {role for role in get_args(Quantity) if role in roles}
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
    shown = list(columns)[:12]
    return f"its columns: {', '.join(shown)}{', ...' if len(columns) > len(shown) else ''}"
