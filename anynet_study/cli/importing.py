"""`anynet-study import`: makes a results store from other people's results."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analysis.analyses.arguments import (
    Family,
    Images,
    Shifts,
    SourceName,
    TableOptions,
    Targets,
    parse_counts,
    parse_names,
    parse_pairs,
    parse_roles,
    with_options,
)
from anynet_study.cli.options import AsJson, opt, writes
from anynet_study.cli.rows import STORES
from anynet_study.cli.tables import harmless
from anynet_study.core.errors import UserError, counted, some_of

if TYPE_CHECKING:
    from anynet_study.store import Files, ImportOptions, ImportReport
    from anynet_study.store.importing.described import Known

#: How many datasets are listed with their median.
LISTED = 8
each_image = partial(opt, rich_help_panel="Results image by image")


@partial(with_options, TableOptions)
def import_(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]FILE...",
            help="Tables (CSV, Parquet, JSON), results stores (.h5), or a folder that export made; "
            "NAME is the dataset of a table of one.",
        ),
    ] = None,
    output: Annotated[Path | None, writes("The results store to make.")] = None,
    dry_run: Annotated[
        bool, opt("Show what each column of the tables is taken for; make nothing.", "--dry-run")
    ] = False,
    metric: Annotated[
        str,
        opt("The metric of the values: top1, macro_f1, ...; of a column metric the rows to read."),
    ] = "",
    recipe: Annotated[str, opt("How the models were trained: a name.")] = "imported",
    datasets: Annotated[
        Path | None, opt("Table: dataset, role, classes, test_images, metric, ...")
    ] = None,
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
    shifts: Shifts = None,
    images: Images = None,
    predictions: Annotated[
        list[str] | None,
        each_image("DATASET=FILE: predicted classes, or true and false, per example."),
    ] = None,
    labels: Annotated[
        list[str] | None, each_image("DATASET=FILE: the true classes of the examples.")
    ] = None,
    as_json: AsJson = False,
    *,
    options: TableOptions,
) -> None:
    """Make a results store from results of any other models.

    A table is wide (one row per model, one column per dataset) or long (columns model, dataset, and
    error or accuracy); empty cells stay gaps. What is unclear is refused, never guessed: a table
    whose columns are not named error or accuracy needs --error or --accuracy, and one whose values
    look like fractions --fraction or --percent. A model may be named by two columns: --map
    model=name+pretrained. Of errors that are means over trainings, --map std=*_std,n=3 declares the
    columns of their standard deviations and how many trainings there were (* stands for the
    dataset): then tables of noise have intervals. Columns that are trainings of one dataset are
    declared by --map accuracy="Run #". Files that have one test set each get its name: val=a.csv.
    What each column was taken for is printed; with --dry-run nothing else is done.

    \b
    Examples:
      anynet-study import testbed.csv --accuracy --dry-run
      anynet-study import testbed.csv --accuracy -o testbed.h5
      anynet-study import testbed.csv --accuracy --source val --shifts val-v2,sketch -o testbed.h5
      anynet-study import runs.csv --map "accuracy=*_mean,std=*_std,n=seeds" -o runs.h5
      anynet-study import nats.csv --map model=arch_str,dataset=task,accuracy=acc -o nats.h5
      anynet-study import val=results-val.csv sketch=results-sketch.csv -o timm.h5
      anynet-study import testbed.h5 more.json --datasets datasets.csv -o testbed.h5
      anynet-study import --predictions val=preds.npz --labels val=labels.npy -o val.h5
      anynet-study import release/ -o results.h5
    """
    from anynet_study.store import (
        Files,
        ImportOptions,
        read_sidecar,
        understood_tables,
        with_roles,
    )

    if output is None and not dry_run:
        raise UserError("-o STORE.h5 is needed, or --dry-run to see how the tables are read")
    if output is not None:
        _check_output(output)
    roles = parse_roles(source_name, family or [], targets or [])
    given = None if isinstance(roles, str) else roles
    if (told := parse_names(shifts or [])) and not source_name:
        raise UserError("--shifts: say with --source which dataset they are test sets of")
    known = with_roles(
        read_sidecar(datasets) if datasets is not None else {},
        source_name,
        given.family if given else {},
        given.targets if given else {},
        told,
        parse_counts("--images", images or [], "NAME=COUNT, such as val=50000"),
    )
    said = options.declared()
    lists = {"datasets": said["dataset_columns"], "errors": said["error_columns"]}
    accuracy, fraction = options.accuracy, options.fraction
    kept = ("columns", "describe", "ignore", "ignore_rows", "last", "transpose", "separator")
    told_of_tables = ImportOptions(
        quantity=None if accuracy is None else "accuracy" if accuracy else "error",
        unit=None if fraction is None else "fraction" if fraction else "percent",
        metric=metric or None,
        recipe=recipe,
        encoding=options.encoding,
        **lists,
        **{name: said[name] for name in kept},
    )
    of_images = parse_pairs("--predictions", predictions or [], "DATASET=FILE")
    predicted = [(name, Path(path)) for name, path in of_images]
    true = parse_pairs("--labels", labels or [], "DATASET=FILE")
    truth = {name: Path(path) for name, path in true}
    tables = [_named(text) for text in files or ()]
    given_files = Files(
        tuple(path for _, path in tables), tuple(predicted), truth, {p: n for n, p in tables if n}
    )
    if dry_run or output is None:
        accounts = understood_tables(given_files, told_of_tables, known)
        if as_json:
            print(json.dumps([account.model_dump() for account in accounts]))
        else:
            print(harmless("\n".join(line for account in accounts for line in account.lines())))
        return
    _import(given_files, output, told_of_tables, known, as_json)


def _named(text: str) -> tuple[str, Path]:
    """The name of a dataset, if one is given, and the file."""
    name, _, path = ("", "", text) if Path(text).exists() else text.partition("=")
    return (name, Path(path)) if path else ("", Path(text))


def _import(
    files: "Files", output: Path, options: "ImportOptions", known: "Known", as_json: bool
) -> None:
    from anynet_study.store import Files, ImportOptions, import_bundle, import_results, report_of

    replaced = " (in place of the earlier one)" if output.exists() else ""
    alone = len(files.tables) == 1 and Files(files.tables) == files and not known
    if alone and files.tables[0].is_dir() and options == ImportOptions():
        import_bundle(files.tables[0], output)
        report = report_of(output)
    else:
        report = import_results(files, output, options, known)
    if as_json:
        told = vars(report) | {"accounts": [each.model_dump() for each in report.accounts]}
        print(json.dumps({**told, "store": str(output)}))
        return
    lines = [line for account in report.accounts for line in account.lines()]
    print(harmless("\n".join([*lines, *_said(report), f"{output}{replaced}"])))


def _said(report: "ImportReport") -> list[str]:
    gaps = f", {counted(report.gaps, 'gap')}" if report.gaps else ""
    lines = [
        f"{counted(report.models, 'model')} x {counted(report.datasets, 'dataset')}: "
        f"{counted(report.runs, 'error')}{gaps}"
    ]
    if not report.accounts:
        medians = [f"{name} {value:.4g}" for name, value in report.medians.items()]
        lines.append(f"median error in percent: {', '.join(some_of(medians, LISTED))}")
        lines += [f"models are described by: {', '.join(report.described)}"] * bool(
            report.described
        )
    return lines


def _check_output(output: Path) -> None:
    if output.suffix.lower() not in STORES:
        raise UserError(f"-o {output}: a results store ends in {' or '.join(STORES)}")
