"""What the reading commands analyse: a study, its results store, or a table of errors in a file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.input_tables import read_table
from anynet_study.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.apr import Roles
    from anynet_study.report import Choice, StudyTables
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

Recipe = Annotated[
    str | None, typer.Option("--recipe", help="Of a store: the recipe; default: its main one.")
]
Metric = Annotated[
    str | None,
    typer.Option("--metric", help="Of a store: top1, top5, ...; default: each dataset's own."),
]
Replicates = Annotated[
    str | None,
    typer.Option("--replicates", help="Of a store: mean over replicates (default), or first."),
]

TABLE_SUFFIXES = (".csv", ".parquet")


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
    choice: "Choice | None" = None

    @property
    def has_stages(self) -> bool:
        """Whether the depths, widths and so on of the architectures' stages are known."""
        return self.population is not None and "d1" in self.population.columns

    @property
    def weights(self) -> "pd.Series[float] | None":
        """Weights by architecture; None where all were drawn with equal probability."""
        from anynet_study.apr import weights_of

        return None if self.population is None else weights_of(self.population)

    def study_tables(self) -> "StudyTables":
        """All that analyses and figures start from."""
        from anynet_study.report import Choice, StudyTables, study_tables

        if self.store is None:
            return StudyTables(self.errors, self.population, self.roles, self.replicates)
        tables = study_tables(self.store, self.roles, self.choice or Choice())
        return replace(tables, population=self.population)

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
    choice: "Choice | None" = None,
) -> ErrorsInput:
    """Read a results.h5, a study folder, a study's bare name, or a CSV or Parquet table.

    In a table the first column names the architecture, the others are datasets, in percent, but
    for those that a population's table has too: of stages (d1, w1, b1, g1, ...), block, flops and
    so on. `accuracy` and `fraction` say that a table holds accuracies, or values from 0 to 1.
    `roles` replaces what a store says of its datasets; `choice` is for stores.
    """
    if source.suffix.lower() in TABLE_SUFFIXES:
        if not source.is_file():
            raise UserError(f"{source}: no such file")
        if choice is not None:
            raise UserError(f"{source}: --recipe, --metric and --replicates are for results stores")
        return ErrorsInput(source.name, *read_table(source, accuracy, fraction), roles)
    if accuracy or fraction:
        raise UserError(f"{source}: --accuracy and --fraction are for CSV and Parquet tables")
    return _read_store(source, roles, choice)


def read_with_roles(
    source: Path, source_name: str, family: Sequence[str] | None, targets: Sequence[str] | None
) -> "tuple[ErrorsInput, Roles]":
    """As `read_errors`, where the parts of the datasets must be known: stated, or by the store."""
    read = read_errors(source, parse_roles(source_name, family or [], targets or []))
    if read.roles is None:
        raise UserError(f"{source}: say which datasets are --source, --family and --targets")
    return read, read.roles


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


def parse_choice(recipe: str | None, metric: str | None, replicates: str | None) -> "Choice | None":
    """The runs that --recipe, --metric and --replicates ask for; None where none is given."""
    from anynet_study.metrics import SHOWN
    from anynet_study.report import Choice

    if recipe is None and metric is None and replicates is None:
        return None
    if metric not in (None, *SHOWN):
        raise UserError(f"--metric: no {metric!r}; legal: {', '.join(SHOWN)}")
    if replicates not in (None, "mean", "first"):
        raise UserError(f"--replicates: no {replicates!r}; legal: mean, first")
    return Choice(recipe, metric, "first" if replicates == "first" else "mean")


def _class_counts(option: str, values: Sequence[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in (part for text in values for part in text.split(",")):
        name, _, classes = value.strip().rpartition("=")
        if not name or not classes.isdigit():
            raise UserError(f"{option}: {value!r} is not NAME=CLASSES, such as ImageNet-10=10")
        counts[name] = int(classes)
    return counts


def _read_store(source: Path, roles: "Roles | None", choice: "Choice | None") -> ErrorsInput:
    from anynet_study.apr import Roles
    from anynet_study.store import find_store

    store = find_store(source)
    datasets = store.datasets()
    if roles is None and (datasets["role"] == "source").sum() == 1:
        roles = Roles.from_datasets(datasets) if (datasets["role"] == "target").any() else None
    if choice is None:
        errors, replicates = store.errors(), store.replicates()
    else:
        errors = store.errors(choice.metric, choice.recipe, choice.replicates)
        replicates = store.replicates(choice.metric, choice.recipe)
    path = store.path.resolve()
    name = path.parent.name if path.name == "results.h5" else path.stem
    return ErrorsInput(name, errors, store.architectures(), roles, replicates, store, choice)
