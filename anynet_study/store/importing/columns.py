"""What the columns of a table mean: long or wide, and which column is what."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.sheets import Cell, Sheet, column_called, normal_form

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
    quantity: Quantity | None = None
    #: What values are where nothing says it, unless they look like the other; None: refused.
    assumed: Quantity | None = None
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


#: Names by which a column is known, in normal form, the likelier ones first.
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
#: Of an error that is the mean over trainings: their standard deviation and number.
SPREAD = ("std", "n")
MAPPABLE = ("model", "dataset", "error", "accuracy", *SPREAD, *RUN_COLUMNS)

#: Columns that describe a model and are no errors on a dataset of that name.
NUMBERS = (
    *("stem_width", "se_ratio", "weight", "sampling_weight", "flops", "parameters", "activations"),
    *("params", "macs", "gflops", "resolution", "year"),
)
TEXTS = ("stem", "block", "source", "family")
#: Words of names of columns that are no accuracies, unless a word of accuracies is beside them.
OF_NO_ACCURACY = {
    *("flops", "gflops", "mflops", "flop", "gflop", "macs", "gmacs", "mmacs", "madds", "adds"),
    *("params", "param", "mparams", "parameters", "size", "resolution", "mb", "gb", "kb", "mib"),
    *("ms", "sec", "secs", "seconds", "time", "latency", "throughput", "fps"),
    *("year", "epoch", "epochs", "lr", "batch", "decay", "dropout", "layers", "passes", "seed"),
    *("average", "avg", "mean", "pct", "learning", "momentum", "loss", "nll", "ece", "brier"),
    *("mem", "vram", "hours", "gpus", "cost", "seeds", "runs", "steps", "iterations"),
    *("iters", "heads", "channels", "blocks", "downloads", "likes", "stars", "citations"),
    *("interpolation", "unnamed", "count", "kwh", "co2", "macts", "energy", "power", "watts"),
    *("patch", "stride", "kernel", "tokens", "auc", "auroc", "recall"),
    *("precision", "iou", "miou", "psnr", "ssim", "fid", "mse", "rmse", "mae"),
}
#: Whole names that say so; as words of longer names they may be part of a dataset's.
NO_DATASETS = {
    *("depth", "width", "input", "input_px", "id", "index", "no", "nr", "n", "images", "date"),
    *("test_images", "train_images", "n_images", "num_images", "samples", "order", "version", ""),
    *("m_ce", "mce", "m_ap", "io_u", "m_io_u", "all", "overall", "total"),
    *("memory", "gpu_memory", "peak_memory"),
}
#: Such words wherever they are: the spread of an accuracy is none.
OF_SPREAD = {"std", "stdev", "stddev", "sd", "stderr", "sem", "se", "ci", "ci95", "var", "variance"}
NEVER_ACCURACY = {
    *OF_SPREAD,
    *("min", "max", "lower", "upper", "rank", "ranking", "ranks", "diff", "difference", "delta"),
    *("gap", "gain", "drop", "improvement"),
}
#: And the last words of names: of counts, and of the ends of intervals.
ENDINGS = {"n", "lo", "hi", "lcl", "ucl", "lb", "ub", "index", "idx"}
OF_ACCURACY = {
    *("acc", "accuracy", "accuracies", "err", "error", "errors", "top1", "top5", "top", "class"),
}
#: First columns of numbers that may name the models.
OF_IDS = ("", "id", "index", "no", "nr", "number", "key", "uid")
#: What is written between two columns that name a model together.
AND = "+"
#: Stands for the name of a dataset in the names of columns that are declared.
ANY = "*"
#: Where d1 and w1 are there, so are columns of stages: depth, width, ratio, group width, stride.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")


def stage_columns(columns: Collection[str]) -> list[str]:
    """List the columns that describe stages of networks; none unless d1 and w1 say that they do."""
    staged = set(columns) >= STAGES_TOLD_BY
    return [name for name in columns if staged and STAGE.fullmatch(name)]


def describes(name: str) -> bool:
    """Whether the name of a column says that its numbers are no accuracies.

    >>> [describes(name) for name in ("GFLOPS", "cars_std", "cars_n", "mean accuracy", "cars")]
    [True, True, True, False, False]
    """
    *_, last = listed = normal_form(name).split("_")
    words = {*listed}
    if normal_form(name) in NO_DATASETS or last in ENDINGS or "±" in name:
        return True
    return bool(words & NEVER_ACCURACY or (words & OF_NO_ACCURACY and not words & OF_ACCURACY))


def matched(pattern: str, column: str) -> str | None:
    """What stands for the * where a column's name is as the pattern says; else None.

    >>> matched("*_std", "cars_std"), matched("*_std", "cars")
    ('cars', None)
    """
    found = re.fullmatch(re.escape(pattern).replace(re.escape(ANY), "(.+)", 1), column)
    return found[1] if found and ANY in pattern else None


def with_joined_model(sheet: Sheet, options: ImportOptions) -> Sheet:
    """The table with one column that names the models where --map model=A+B names two.

    UserError for a column that is not there.
    """
    name = options.columns.get("model", "")
    if AND not in name or name in sheet.columns:
        return sheet
    parts = [part.strip() for part in name.split(AND)]
    _require_columns("--map", sheet.path, parts, sheet.columns)
    cells = zip(*(sheet.names(part) for part in parts), strict=True)
    joined: list[Cell] = [AND.join(map(str, row)) for row in cells]
    return replace(sheet, columns={name: joined, **sheet.columns})


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
        ]


@dataclass(frozen=True)
class Roles:
    """The role of each column of a table."""

    model: str
    #: Whether that is declared, or known by its name.
    sure: bool
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


def roles_of(
    path: Path, columns: Collection[str], options: ImportOptions, declared: Collection[str] = ()
) -> Roles:
    """Find out the roles. What is `declared` to be a dataset is one, whatever its name says.

    Raises UserError if a name given to --map, --describe or --ignore is no column, and for what
    is ambiguous.
    """
    _check_told(path, columns, options)
    roles = {role: name for role, name in options.columns.items() if role not in SPREAD}
    spread = [options.columns[role] for role in SPREAD if role in options.columns]
    used = {c for c in columns for name in spread if c == name or matched(name, c)}
    used |= {*options.ignore, *options.describe}
    free = [name for name in columns if name not in used]
    for role in ("model", "dataset", "error", "accuracy"):
        found = _known(role, [name for name in free if name not in roles.values()])
        if role not in roles and found is not None:
            roles[role] = found
    unclaimed = (name for name in free if name not in roles.values())
    sure = "model" in roles
    roles.setdefault("model", next(unclaimed, ""))
    told = {role for role in ("error", "accuracy") if role in options.columns}
    long = "dataset" in roles and bool({"error", "accuracy"} & set(roles))
    if not long and (told or "dataset" in roles):
        missing = "error=COLUMN or accuracy=COLUMN" if "dataset" in roles else "dataset=COLUMN"
        raise UserError(
            f"{path}: a long table needs --map {missing} too; {_listed(columns)} (if it has a "
            "row for each dataset and a column for each model, swap its rows and columns)"
        )
    quantity = _quantity(path, roles, told, options) if long else None
    wanted = RUN_COLUMNS if long else ("replicate", "recipe")
    run = {role: name for role in wanted if (name := roles.get(role) or _known(role, free))}
    core = {roles["model"], *run.values()} | (
        {roles["dataset"], roles[quantity]} if quantity else set()
    )
    beside = f"{roles[quantity]}_std" if quantity else ""
    rest = [name for name in free if name not in {*core, beside}]
    free = [name for name in rest if name not in declared]
    numbers = tuple(name for name in free if name in {*NUMBERS, *stage_columns(rest)})
    plain = {normal_form(name) for name in columns}
    ends = {f"{name}_{end}" for name in plain for end in ("low", "high")}  # cars, cars_low
    said = {name for name in free if describes(name) or normal_form(name) in ends}
    texts = tuple(name for name in free if name in TEXTS or (name in said and not long))
    if options.datasets:
        numbers = tuple(name for name in numbers if name not in options.datasets)
        known = {*options.datasets, *numbers}
        texts = tuple(name for name in rest if name not in known)
    return Roles(
        model=roles["model"],
        sure=sure or normal_form(roles["model"]) in OF_IDS,
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
    }
    for option, names in asked.items():
        _require_columns(option, path, names, columns)


def _require_columns(
    option: str, path: Path, names: Collection[str], columns: Collection[str]
) -> None:
    for name in names:
        if name not in columns:
            raise UserError(f"{option}: {path} has no column {name!r}; {_listed(columns)}")


def _known(role: str, columns: Collection[str]) -> str | None:
    if role not in ALIASES:
        return role if role in columns else None
    return column_called(columns, ALIASES[role])


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
    return f"its columns: {', '.join(some_of(columns))}"
