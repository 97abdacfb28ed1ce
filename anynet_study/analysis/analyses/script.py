"""The common part of the scripts of `analysis/`: arguments, and the files that they write."""

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from anynet_study.analysis import plots
from anynet_study.analysis.analyses.arguments import (
    Output,
    Source,
    StudyOptions,
    with_study_options,
)
from anynet_study.analysis.analyses.building import with_averages
from anynet_study.analysis.analysis import unanswered
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError, UserError, first_line
from anynet_study.core.files import write_text
from anynet_study.core.metrics import EvaluationKind
from anynet_study.core.sheets import csv_text

#: Of a study: the dataset whose runs' evaluations on further test sets are meant.
DatasetName = Annotated[str, typer.Option("--dataset", help="Of a store: whose test sets.")]
#: Which datasets are drawn.
Datasets = Annotated[str, typer.Option("--datasets", help="NAME,NAME,...; default: all.")]
#: Where a script writes.
FOLDER = Path("figures")


def script(function: Callable[..., None]) -> None:
    """Run `function(study, ...)` with a study and arguments from the command line.

    The study comes with the options of `anynet-study analyze`. Bad input is one line and exit
    code 2.
    """

    def command(source: Path, *args: Any, options: StudyOptions, **own: Any) -> None:
        function(options.load(source), *args, **own)

    first, *own = inspect.signature(function, eval_str=True).parameters.values()
    source = first.replace(name="source", annotation=Source)
    options = inspect.Parameter("options", inspect.Parameter.KEYWORD_ONLY)
    command.__signature__ = inspect.Signature([source, *own, options])  # type: ignore[attr-defined]
    command.__doc__ = function.__doc__
    run(with_study_options(command))


def run(command: Callable[..., None]) -> None:
    """Run a function with arguments from the command line."""
    try:
        typer.run(command)
    except (UserError, OSError) as error:
        print(f"error: {first_line(error)}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UserError) else 1)


def draw(*tables: str, **figures: str) -> None:
    """Run a script that draws registered figures, each under a name of its own.

    `draw(figure7a="depth", figure7b="width")` writes figure7a.png, .pdf and .csv, and so on. Of
    several figures, those that there are. Before them the script prints these tables, those that
    there are.
    """

    def command(study: Study, output: Output = FOLDER) -> None:
        lacking, left_out = [], []
        for name in tables:
            try:
                show(study.analysis(name).title, study.table(name))
            except DoesNotApplyError as error:
                lacking.append(f"no table {name}: {error}")
        for stem, name in figures.items():
            try:
                save(study.figure(name), output / stem, study.figure_data(name))
            except DoesNotApplyError as error:
                left_out.append(f"no {stem}: {error}")
        if len(left_out) == len(figures):
            raise UserError(f"{study.name}: {left_out[0]}")
        for line in [*lacking, *left_out]:
            print(line, file=sys.stderr)

    command.__doc__ = f"Draw {', '.join(figures)}: PNG, PDF, and what they show as CSV."
    script(command)


def show_tables(*names: str) -> None:
    """Run a script that prints tables of the study."""

    def command(study: Study) -> None:
        for name in names:
            table = study.table(name)
            shown = with_averages(table, str(table.columns[0]), "Average")
            counts = table.select_dtypes("integer").columns  # which an average has not
            show(study.analysis(name).title, shown.astype(dict.fromkeys(counts, "Int64")))

    command.__doc__ = f"Print the tables {', '.join(names)}."
    script(command)


def save(figure: Any, stem: Path, table: pd.DataFrame | None = None) -> None:
    """Write a figure as PNG and PDF, and its table as CSV; print their paths.

    Raises UserError for a figure that shows nothing.
    """
    plots.check_drawn(figure)
    print(*plots.save(figure, stem, table=table), sep="\n")


def save_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, and print its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, csv_text(table))
    print(path)


def show(title: str, table: pd.DataFrame) -> None:
    """Print a table. Raises DoesNotApplyError, saying why, for one with no number but counts."""
    if reason := unanswered(table):
        raise DoesNotApplyError(f"{title}: {reason}")
    print(f"{title}\n{table.to_string(index=False, float_format='{:.3f}'.format)}\n")


def errors_on_test_sets(
    study: Study, dataset: str, kind: EvaluationKind | None = None, own: str = ""
) -> tuple[pd.DataFrame, dict[str, int] | None]:
    """Errors in percent, architectures x test sets, and their numbers of images where known.

    Of the evaluations those that --evaluations names, or else those of a kind, None: all.
    `dataset` is the one that the networks were trained on, where several have further test sets. Of
    a table in which nothing is said to be a test set, all columns are, or the `own` one, by default
    the first, and those that --evaluations names.
    """
    known, told = study.known("evaluated") or {}, list(study.options.evaluations)
    if study.store is None and not known:
        own = own or str(study.errors.columns[0])
        check_datasets(study, [own, *told])
        return study.errors[[own, *told] if told else [*study.errors]], study.image_counts or None
    tables = study.tested_on(kind) if known and (kind or told) else known
    name = tested_dataset(study, dataset, tables)
    counts = study.images.get(name, {})
    return tables[name], counts if set(tables[name]) <= set(counts) else None


def tested_dataset(study: Study, dataset: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """The dataset of these tables that is meant: the one that is named, or the only one."""
    names = list(tables) or list(study.errors.columns)
    if not dataset and len(names) > 1:
        raise UserError(f"{study.name}: say which --dataset; there are {', '.join(names)}")
    name = dataset or names[0]
    if name not in tables:
        raise UserError(f"{study.name}: {name} has no further test sets")
    return name


def source_or_first(study: Study) -> str:
    """The source, or else the first dataset."""
    roles = study.known("roles")
    return roles.source if roles else str(study.errors.columns[0])


def chosen_errors(study: Study, datasets: str) -> pd.DataFrame:
    """The study's errors on these datasets, with commas between them, or on all."""
    names = [name for name in datasets.split(",") if name] or list(study.errors)
    check_datasets(study, names)
    return study.errors[names]


def check_datasets(study: Study, names: list[str]) -> None:
    """Raise UserError for a dataset that the study does not have."""
    absent = [name for name in names if name not in study.errors]
    if absent:
        known = ", ".join(map(str, study.errors))
        raise UserError(f"{study.name}: no dataset {', '.join(absent)}; there are {known}")
