"""`anynet-study import`: makes a results store from other people's results."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analysis.analyses.arguments import (
    Family,
    Images,
    Shifts,
    SourceName,
    Targets,
    parse_counts,
    parse_names,
    parse_pairs,
    parse_roles,
)
from anynet_study.cli.options import AsJson, names, opt, writes
from anynet_study.cli.rows import STORES
from anynet_study.cli.tables import harmless
from anynet_study.core.errors import UserError, counted

if TYPE_CHECKING:
    from anynet_study.store import Files, ImportOptions, ImportReport
    from anynet_study.store.importing.described import Known

#: How many datasets are listed with their median.
LISTED = 8


def import_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Tables (CSV, Parquet, JSON), results stores (.h5), or a folder that export made.",
        ),
    ] = None,
    output: Annotated[Path | None, writes("The results store to make.")] = None,
    dry_run: Annotated[
        bool, opt("Show what each column of the tables is taken for; make nothing.", "--dry-run")
    ] = False,
    accuracy: Annotated[
        bool | None, opt("Whether the values are accuracies or errors.", "--accuracy/--error")
    ] = None,
    fraction: Annotated[
        bool | None, opt("Whether values go up to 1 or to 100.", "--fraction/--percent")
    ] = None,
    columns: Annotated[
        list[str] | None,
        opt("OURS=THEIRS,... such as model=net,dataset=task,error=top1_err.", "--map"),
    ] = None,
    describe: Annotated[str, opt("Columns that describe the models.")] = "",
    ignore: Annotated[str, opt("Columns to leave out.")] = "",
    dataset_columns: Annotated[
        str, opt("Columns of a wide table that are datasets; the others describe the models.")
    ] = "",
    metric: Annotated[str, opt("The metric of the values: top1, macro_f1, ...")] = "",
    recipe: Annotated[str, opt("How the models were trained: a name.")] = "imported",
    separator: Annotated[str, opt("Separator of CSV files; detected by default.")] = "",
    encoding: Annotated[str, opt("Encoding of CSV files; default: UTF-8 or UTF-16.")] = "",
    datasets: Annotated[
        Path | None, opt("Table: dataset, role, classes, test_images, metric, ...")
    ] = None,
    source_name: SourceName = "",
    family: Family = None,
    targets: Targets = None,
    shifts: Shifts = None,
    images: Images = None,
    predictions: Annotated[
        list[str] | None, opt("DATASET=FILE: predicted classes, or true and false, per example.")
    ] = None,
    labels: Annotated[
        list[str] | None, opt("DATASET=FILE: the true classes of the examples.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a results store from results of any other models.

    A table is wide (one row per model, one column per dataset) or long (columns model, dataset, and
    error or accuracy); empty cells stay gaps. What is unclear is refused, never guessed: a table
    whose columns are not named error or accuracy needs --error or --accuracy, and one whose values
    look like fractions --fraction or --percent. A model may be named by two columns: --map
    model=name+pretrained. Of errors that are means over trainings, --map std=*_std,n=3 declares the
    columns of their standard deviations and how many trainings there were (* stands for the
    dataset): then tables of noise have intervals. With --dry-run you see what each column was taken
    for.

    \b
    Examples:
      anynet-study import testbed.csv --accuracy --dry-run
      anynet-study import testbed.csv --accuracy -o testbed.h5
      anynet-study import testbed.csv --accuracy --source val --shifts val-v2,sketch -o testbed.h5
      anynet-study import runs.csv --map "accuracy=*_mean,std=*_std,n=seeds" -o runs.h5
      anynet-study import nats.csv --map model=arch_str,dataset=task,accuracy=acc -o nats.h5
      anynet-study import testbed.h5 more.json --datasets datasets.csv -o testbed.h5
      anynet-study import --predictions val=preds.npz --labels val=labels.npy -o val.h5
      anynet-study import release/ -o results.h5
    """
    from anynet_study.analysis.apr import Roles
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
    given = roles if isinstance(roles, Roles) else None
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
    options = ImportOptions(
        columns=dict(parse_pairs("--map", columns or [], "OURS=THEIRS", several=True)),
        describe=names(describe),
        ignore=names(ignore),
        datasets=names(dataset_columns),
        quantity=None if accuracy is None else "accuracy" if accuracy else "error",
        unit=None if fraction is None else "fraction" if fraction else "percent",
        metric=_metric(metric),
        recipe=recipe,
        separator=separator,
        encoding=encoding,
    )
    of_images = parse_pairs("--predictions", predictions or [], "DATASET=FILE")
    predicted = [(name, Path(path)) for name, path in of_images]
    true = parse_pairs("--labels", labels or [], "DATASET=FILE")
    truth = {name: Path(path) for name, path in true}
    given_files = Files(tuple(files or ()), tuple(predicted), truth)
    if dry_run or output is None:
        accounts = understood_tables(given_files, options, known)
        if as_json:
            print(json.dumps([account.model_dump() for account in accounts]))
        else:
            print(harmless("\n".join(line for account in accounts for line in account.lines())))
        return
    _import(given_files, output, options, known, as_json)


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
        print(json.dumps({**vars(report), "store": str(output)}))
        return
    print(harmless(f"{_said(report)}\n{output}{replaced}"))


def _said(report: "ImportReport") -> str:
    gaps = f", {counted(report.gaps, 'gap')}" if report.gaps else ""
    lines = [
        f"{counted(report.models, 'model')} x {counted(report.datasets, 'dataset')}: "
        f"{counted(report.runs, 'error')}{gaps}"
    ]
    medians = [f"{name} {value:.4g}" for name, value in list(report.medians.items())[:LISTED]]
    more = f", and {len(report.medians) - LISTED} more" if len(report.medians) > LISTED else ""
    lines.append(f"median error in percent: {', '.join(medians)}{more}")
    if report.described:
        lines.append(f"models are described by: {', '.join(report.described)}")
    return "\n".join(lines)


def _check_output(output: Path) -> None:
    if output.suffix.lower() not in STORES:
        raise UserError(f"-o {output}: a results store ends in {' or '.join(STORES)}")


def _metric(name: str) -> str | None:
    from typing import get_args

    from anynet_study.core.metrics import Metric

    if name and name not in get_args(Metric):
        raise UserError(f"--metric: unknown {name!r}; choose from {', '.join(get_args(Metric))}")
    return name or None
