"""`anynet-study query`: rows of results stores on the terminal or in a file."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analysis.analyses.arguments import studies_and_files
from anynet_study.cli.options import AsIs, AsJson, current, opt, writes
from anynet_study.cli.rows import TERMINAL_ROWS, Format, choose_format, print_rows, save_rows
from anynet_study.cli.tables import harmless
from anynet_study.core.errors import UserError, counted
from anynet_study.store import TableName

if TYPE_CHECKING:
    from anynet_study.store import Results

#: What a table on the terminal shows of the runs where --columns does not say.
RUN_COLUMNS = ["architecture", "dataset", "replicate", "status", "error", "recipe", "run_id"]

of_errors = partial(opt, rich_help_panel="With --table errors")


def query(
    stores: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY",
            help="Studies (folders or names), or results.h5 files; several are read as one.",
            show_default=False,
            autocompletion=studies_and_files,
        ),
    ],
    where: Annotated[
        str,
        opt("Rows to keep, as after WHERE in SQL; text in single quotes: dataset = 'digits'."),
    ] = "",
    columns: Annotated[str, opt("Columns to show, comma-separated.")] = "",
    limit: Annotated[int | None, opt(f"At most this many rows (a table: {TERMINAL_ROWS}).")] = None,
    table: Annotated[TableName | None, opt("Default: runs.")] = None,
    metric: Annotated[str, of_errors("The metric: top1, auroc, ...")] = "",
    recipe: Annotated[str, of_errors("The recipe; default: the main one.")] = "",
    replicates: Annotated[str, of_errors("Of replicates: mean, first or each.")] = "",
    evaluations: Annotated[
        str,
        of_errors(
            "The errors of the runs on a dataset, on its test set and on every further one.",
            metavar="DATASET",
        ),
    ] = "",
    sql: Annotated[
        str,
        opt("A SELECT over these tables, with order and groups, in place of the options above."),
    ] = "",
    form: Annotated[
        Format | None, opt("Default: by the ending of -o, or table.", "--format")
    ] = None,
    output: Annotated[Path | None, writes("File to write instead of printing.")] = None,
    as_json: AsJson = False,
    as_is: AsIs = False,
) -> None:
    """Select rows of results: runs, errors, curves and more.

    Runs can be selected by their architecture and dataset too. Nothing is changed or executed.

    \b
    Examples:
      anynet-study query quickstart --where "dataset = 'digits' and error < 20"
      anynet-study query quickstart --columns architecture,dataset,d1,error
      anynet-study query quickstart --sql "select d1, error from runs order by d1 desc"
      anynet-study query quickstart --sql "select dataset, avg(error) from runs group by 1"
      anynet-study query quickstart --table evaluations --where "evaluation = 'blur'"
      anynet-study query quickstart --table errors --evaluations digits
      anynet-study query quickstart --table classes --where "accuracy < 50"
      anynet-study query one two --columns store,run_id,code_version,device,host
      anynet-study query results.h5 --table errors -o errors.csv
    """
    from anynet_study.store import find_stores, run_sql, select

    form = choose_format("json" if as_json else form, output)
    if limit is not None:
        if limit < 1:
            raise UserError(f"limit {limit}: must be 1 or more")
        limit = min(limit, sys.maxsize)
    asked = {"metric": metric, "recipe": recipe, "replicates": replicates}
    asked["evaluations"] = evaluations
    if sql:
        given = {"table": table or "", "where": where, "columns": columns, **asked}
        _refuse(given, "not with --sql, which says it all")
    elif table != "errors":
        _refuse(asked, "is of --table errors only")
    current(stores, as_is)
    results = find_stores(stores)
    if sql:
        rows = run_sql(results, sql).slice(0, limit)
    else:
        shown = list(dict.fromkeys(name.strip() for name in columns.split(",") if name.strip()))
        if not shown and form == "table" and table in (None, "runs"):
            shown = ["store", *RUN_COLUMNS] if "store" in results.columns("runs") else RUN_COLUMNS
        options = {name: value for name, value in asked.items() if value}
        rows = select(results, table or "runs", where or None, shown, limit, **options)
    for line in results.conflicts:
        typer.echo(harmless(f"note: {line}"), err=True)
    if output is not None:
        save_rows(rows, form, output)
        typer.echo(f"{counted(len(rows), 'row')}: {output}", err=True)
        return
    print_rows(rows, form, TERMINAL_ROWS if limit is None else limit)
    if not len(rows):
        typer.echo(harmless(f"0 rows{_datasets_of(results, where)}"), err=True)


def _refuse(options: dict[str, str], reason: str) -> None:
    """Raises UserError naming the first option that is given."""
    for name, value in options.items():
        if value:
            raise UserError(f"--{name}: {reason}")


def _datasets_of(results: "Results", where: str) -> str:
    """Tell which datasets there are, for a filter that names one and finds nothing."""
    from anynet_study.store import select

    if "dataset" not in where:
        return ""
    there = select(results, "datasets", columns=["dataset"])["dataset"].to_pylist()
    return f"; datasets: {', '.join(dict.fromkeys(there))}"
