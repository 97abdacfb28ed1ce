"""What the reading commands analyse: a study, its results store, or a table of errors in a file."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.apr import Roles
    from anynet_study.store import ResultStore

Source = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="Study, results.h5, or CSV/Parquet: architecture, errors in percent ...",
    ),
]


def _enough(resamples: int) -> int:
    if not 100 <= resamples <= 1_000_000:
        raise UserError(f"--resamples: {resamples} is too few or too many; legal: 100 to 1000000")
    return resamples


def _no_sign(seed: int) -> int:
    if seed < 0:
        raise UserError(f"--seed: {seed} is negative; legal: 0, 1, 2, ...")
    return seed


Resamples = Annotated[
    int, typer.Option(callback=_enough, help="Bootstrap resamples of architectures.")
]
Seed = Annotated[int, typer.Option(callback=_no_sign, help="Seed of the bootstrap.")]
SourceName = Annotated[
    str, typer.Option("--source", help="The source dataset, where the input does not say.")
]
Family = Annotated[
    list[str] | None,
    typer.Option("--family", help="NAME=CLASSES,... of the source and its class subsets."),
]
Targets = Annotated[
    list[str] | None, typer.Option("--targets", help="NAME=CLASSES,... of the target datasets.")
]
Accuracy = Annotated[bool, typer.Option("--accuracy", help="The table holds accuracies.")]
Fraction = Annotated[bool, typer.Option("--fraction", help="The table's values are 0 to 1.")]

TABLE_SUFFIXES = (".csv", ".parquet")

#: Columns of a table that describe the architecture, and no errors on a dataset.
NUMBERS = ("stem_width", "se_ratio", "weight", "flops", "parameters", "activations")
TEXTS = ("stem", "block")
#: Where d1 and w1 are there, so are columns of stages: depth, width, bottleneck ratio, group
#: width and stride. One such name alone may well be a dataset's.
STAGES_TOLD_BY = {"d1", "w1"}
STAGE = re.compile(r"[dwbgs][0-9]{1,2}")
#: What a missing cell of a CSV file may say, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none")


@dataclass(frozen=True)
class ErrorsInput:
    """Errors with all that is known of them; None for what the source does not have."""

    name: str
    #: Architectures x datasets, percent, NaN = missing.
    errors: "pd.DataFrame"
    #: One row an architecture: `architecture` and what is known of it, such as d1, w1, ...
    population: "pd.DataFrame | None" = None
    roles: "Roles | None" = None
    #: Long table architecture, dataset, replicate, error.
    replicates: "pd.DataFrame | None" = None
    store: "ResultStore | None" = None

    @property
    def has_stages(self) -> bool:
        """Whether the depths, widths and so on of the architectures' stages are known."""
        return self.population is not None and "d1" in self.population.columns

    @property
    def weights(self) -> "pd.Series[float] | None":
        """Weights by architecture; None where all were drawn with equal probability."""
        from anynet_study.apr import weights_of

        return None if self.population is None else weights_of(self.population)

    def unweighted(self) -> "ErrorsInput":
        """The same, as if all had been drawn with equal probability."""
        if self.population is None:
            return self
        return replace(self, population=self.population.drop(columns="weight", errors="ignore"))


def read_errors(
    source: Path,
    roles: "Roles | None" = None,
    accuracy: bool = False,
    fraction: bool = False,
) -> ErrorsInput:
    """Read a results.h5, a study folder, a study's bare name, or a CSV or Parquet table.

    In a table the first column names the architecture, the others are datasets, in percent, but
    for those that a population's table has too: of stages (d1, w1, b1, g1, ...), block, flops and
    so on. `accuracy` and `fraction` say that a table holds accuracies, or values from 0 to 1.
    `roles` replaces what a store says of its datasets.
    """
    if source.suffix.lower() in TABLE_SUFFIXES:
        if not source.is_file():
            raise UserError(f"{source}: no such file")
        return _read_table(source, roles, accuracy, fraction)
    if accuracy or fraction:
        raise UserError(f"{source}: --accuracy and --fraction are for CSV and Parquet tables")
    return _read_store(source, roles)


def parse_roles(source: str, family: Sequence[str], targets: Sequence[str]) -> "Roles | None":
    """Roles from the options --source NAME, --family and --targets NAME=CLASSES[,NAME=CLASSES]."""
    from anynet_study.apr import Roles

    if not source and not family and not targets:
        return None
    if not source:
        raise UserError("--source: name the source dataset that --family and --targets refer to")
    if not family or not targets:
        missing = "--family" if not family else "--targets"
        raise UserError(f"{missing}: needed with --source, as NAME=CLASSES, such as ImageNet=1000")
    return Roles(source, _class_counts("--family", family), _class_counts("--targets", targets))


def _class_counts(option: str, values: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in (part for text in values for part in text.split(",")):
        name, _, classes = value.strip().rpartition("=")
        if not name or not classes.isdigit():
            raise UserError(f"{option}: {value!r} is not NAME=CLASSES, such as ImageNet-10=10")
        counts[name] = int(classes)
    return counts


def _read_store(source: Path, roles: "Roles | None") -> ErrorsInput:
    from anynet_study.apr import Roles
    from anynet_study.store import find_store

    store = find_store(source)
    datasets = store.datasets()
    if roles is None and (datasets["role"] == "source").sum() == 1:
        roles = Roles.from_datasets(datasets) if (datasets["role"] == "target").any() else None
    errors, population, replicates = store.errors(), store.architectures(), store.replicates()
    name = store.path.resolve().parent.name
    return ErrorsInput(name, errors, population, roles, replicates, store)


def _read_table(path: Path, roles: "Roles | None", accuracy: bool, fraction: bool) -> ErrorsInput:
    from anynet_study.apr import check_errors, in_percent

    table = _read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)
    described = _described(list(table.columns))
    try:
        population = _population(table[described]) if described else None
        errors = in_percent(check_errors(table.drop(columns=described), 0), accuracy, fraction)
    except UserError as error:
        raise UserError(f"{path}: {str(error).removeprefix('errors: ')}") from None
    return ErrorsInput(path.name, errors, population, roles)


def _described(columns: list[str]) -> list[str]:
    """Which columns describe the architecture: numbers first, then texts."""
    staged = set(columns) >= STAGES_TOLD_BY
    numbers = [name for name in columns if name in NUMBERS or (staged and STAGE.fullmatch(name))]
    return numbers + [name for name in columns if name in TEXTS]


def _population(described: "pd.DataFrame") -> "pd.DataFrame":
    """Raises UserError for a cell that is no number where it should be, and stages with gaps."""
    from anynet_study.apr import check_errors
    from anynet_study.apr.population import stages_of

    texts = [name for name in described.columns if name in TEXTS]
    numbers = described.drop(columns=texts)
    if set(numbers.columns) >= STAGES_TOLD_BY:
        stages_of(numbers.columns)
    checked = check_errors(numbers, fewest=0) if len(numbers.columns) else numbers
    return checked.join(described[texts]).reset_index()


def _read_csv(path: Path) -> "pd.DataFrame":
    """Every cell as text, or None: pandas' own reader shifts or drops cells of uneven rows."""
    import pandas as pd

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [row for row in csv.reader(file, strict=True) if row] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None
    if len(header) < 2:
        raise UserError(
            f"{path}: {len(header)} columns; needed: a header with the architecture and at least "
            "one dataset, separated by commas"
        )
    for row in rows:
        if len(row) != len(header):
            raise UserError(
                f"{path}: row {row[0]!r} has {len(row)} cells, the header has {len(header)}"
            )
        if not row[0].strip():
            raise UserError(f"{path}: a row has no architecture name in its first cell")
    cells = [[None if cell.strip().lower() in MISSING else cell for cell in row] for row in rows]
    index = pd.Index([row[0].strip() for row in rows], name="architecture", dtype=object)
    columns = [name.strip() for name in header[1:]]
    return pd.DataFrame([row[1:] for row in cells], index=index, columns=columns, dtype=object)


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd
    from pyarrow.lib import ArrowException

    try:
        table = pd.read_parquet(path)
    except ArrowException as error:
        raise UserError(f"{path}: not a readable Parquet table ({error})") from None
    if isinstance(table.index, pd.RangeIndex) and len(table.columns):
        table = table.set_index(table.columns[0])
    return table.set_axis(table.columns.astype(str), axis=1)
