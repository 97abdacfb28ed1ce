"""Files of results to a results store."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from anynet_study.core import arrow
from anynet_study.core.errors import UserError
from anynet_study.core.files import replacing
from anynet_study.core.provenance import code_version
from anynet_study.core.sheets import first_repeat, read_sheet
from anynet_study.store.deduplicate import Arranged, arrange, split
from anynet_study.store.exporting import checked_bundle
from anynet_study.store.hdf5 import creating
from anynet_study.store.importing.described import Known, dataset_table, merged_models
from anynet_study.store.importing.files import ImportedFile, stored_file
from anynet_study.store.importing.options import ImportOptions, TableAccount
from anynet_study.store.importing.predictions import predictions_file
from anynet_study.store.importing.table import table_file, understand
from anynet_study.store.integrity import refuse_wrong
from anynet_study.store.opening import open_store
from anynet_study.store.predictions import Truth
from anynet_study.store.records import joined
from anynet_study.store.results import ResultStore
from anynet_study.store.run_arrays import RunArrays
from anynet_study.store.tables import to_pandas
from anynet_study.store.write import Contents, write_store

STORES = (".h5", ".hdf5")


@dataclass(frozen=True)
class Files:
    """The files of an import."""

    #: Tables of errors or accuracies, and results stores.
    tables: Sequence[Path] = ()
    #: Dataset and file of predictions on it.
    predictions: Sequence[tuple[str, Path]] = ()
    #: By dataset: file of its true classes.
    labels: Mapping[str, Path] = field(default_factory=dict)
    #: By table: the dataset of its values, where they are on one.
    datasets: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportReport:
    """The content of an imported store."""

    models: int
    datasets: int
    runs: int
    #: Cells of models x datasets without an error of the main recipe.
    gaps: int
    #: Columns that describe the models.
    described: tuple[str, ...]
    #: Median of these errors on each dataset that has any, in percent.
    medians: Mapping[str, float]
    #: What each column of the tables was taken for.
    accounts: tuple[TableAccount, ...] = ()


def import_results(files: Files, out: Path, options: ImportOptions, known: Known) -> ImportReport:
    """Make the results store `out` of files; `known` is what is said of the datasets.

    A store at `out` is replaced if it was imported too, which is also how one is extended: by
    importing it with more files. Raises UserError for whatever is unclear or wrong in the files,
    or where they contradict each other, OSError where the store cannot be written; then nothing is
    changed.
    """
    if not files.tables and not files.predictions:
        raise UserError("nothing to import: name at least one file")
    if idle := set(files.labels) - {dataset for dataset, _ in files.predictions}:
        raise UserError(f"--labels: no --predictions on {min(idle)}")
    _check_target(out)
    accounts = _make(files, out, options, known)
    pa.default_memory_pool().release_unused()  # their records leave the memory
    return replace(report_of(out), accounts=accounts)


def _make(
    files: Files, out: Path, options: ImportOptions, known: Known
) -> tuple[TableAccount, ...]:
    """Make the store, and return what its tables were taken for."""
    with replacing(out) as temporary, RunArrays(out) as arrays:
        found = list(_read(files, options, known, arrays))
        contents, records = _put_together(found, known)
        with creating(temporary, out) as file:
            write_store(file, contents, records, arrays)
    return tuple(source.account for source in found if source.account is not None)


def understood_tables(files: Files, options: ImportOptions, known: Known) -> list[TableAccount]:
    """Return what would be read of each table, from which columns; nothing is written.

    Raises UserError as `import_results` does for a table.
    """
    tables = [path for path in files.tables if path.suffix.lower() not in STORES]
    if not tables:
        raise UserError("--dry-run: name at least one table")
    return [
        understand(
            read_sheet(path, options.separator, options.encoding),
            replace(options, dataset=files.datasets.get(path, "")),
            known,
        ).account
        for path in tables
        if not path.is_dir()
    ]


def report_of(store: Path) -> ImportReport:
    """Return what is in a store that was just made."""
    with ResultStore(store, checked=True) as opened:
        errors, runs = opened.errors(), opened.table("runs", ["planned"])
        described = tuple(opened.columns("architectures")[1:])
    return ImportReport(
        models=len(errors),
        datasets=len(errors.columns),
        runs=len(runs),
        gaps=int(errors.isna().sum().sum()),
        described=described,
        medians=errors.median().dropna().to_dict(),
    )


def _read(
    files: Files, options: ImportOptions, known: Known, arrays: RunArrays
) -> Iterator[ImportedFile]:
    paths = [*files.tables, *(path for _, path in files.predictions)]
    labels, order = _journal_names(paths), dict[str, list[str]]()
    for path in files.tables:
        place = checked_bundle(path) if path.is_dir() else path
        if place.suffix.lower() in STORES:
            refuse_wrong(place, place)
            with open_store(place) as file:
                yield stored_file(place, file, arrays)
        else:
            own = replace(options, dataset=files.datasets.get(path, ""))
            yield table_file(place, labels[path], own, known, arrays)
    for dataset, path in files.predictions:
        truth = files.labels.get(dataset)
        told = path, dataset, labels[path], truth, options.recipe, known, arrays, order
        yield predictions_file(*told)


def _journal_names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return what the store calls its files: their names, or paths where names are the same."""
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"{path}: given twice")
    names = [path.name for path in paths]
    return {path: path.name if names.count(path.name) == 1 else str(path) for path in paths}


def _check_target(out: Path) -> None:
    """Raise UserError for a file that is no store, and for one that a study made."""
    if out.exists() and "import" not in ResultStore(out).provenance:
        raise UserError(f"{out}: holds results of a study, not imported ones; give another -o")


def _put_together(found: Sequence[ImportedFile], known: Known) -> tuple[Contents, Arranged]:
    """All records in the order of a store. Raises UserError where files contradict each other."""
    architectures = merged_models([(source.name, source.architectures) for source in found])
    journals = [row for source in found for row in source.journals.to_pylist()]
    rows = {row["journal"]: row for row in journals}
    first = {
        "architecture": architectures["architecture"].to_pylist(),
        "dataset": [name for source in found for name in source.datasets["dataset"].to_pylist()],
        "recipe": [name for source in found for name in source.recipes],
        "evaluation": [name for source in found for name in source.evaluations],
    }
    every = joined([source.records for source in found])
    planned = np.concatenate([source.planned for source in found])
    tables = [
        part.append_column("planned", pa.array(planned[part["row"].to_numpy()]))
        for part in split(every)
    ]
    records = arrange(tables[0], tables[1], first)
    _refuse_repeats(records, found)
    contents = Contents(
        architectures=architectures,
        datasets=dataset_table(known, [source.datasets for source in found], _metrics(records)),
        journals=pa.Table.from_pylist(list(rows.values()), found[0].journals.schema),
        provenance={
            "import": json.dumps([source.provenance for source in found]),
            "code_version": code_version(),
        },
        truths=_truths(found),
    )
    return contents, records


def _refuse_repeats(records: Arranged, found: Sequence[ImportedFile]) -> None:
    """Refuse a cell that two files have, among runs that are analysed, or a run_id of two files."""
    runs = records.runs
    names = ("architecture", "dataset", "recipe")
    codes = [arrow.whole(runs[name]).indices for name in names]
    cell = np.stack([*map(arrow.to_numpy, (*codes, runs["replicate"]))])
    cell = cell[:, np.asarray(runs["planned"], bool)]
    again = (cell[:, 1:] == cell[:, :-1]).all(axis=0)  # runs are in the order of these
    if not again.any() and (len(found) == 1 or len(runs["run_id"].unique()) == len(runs)):
        return
    cells = to_pandas(runs.select([*names, "replicate"]))
    analysed = cells[np.asarray(runs["planned"], bool)]
    pair = first_repeat(analysed) or first_repeat(pd.DataFrame({"id": runs["run_id"].to_pandas()}))
    if pair is None:
        return
    counts = np.cumsum([len(source.records) for source in found])
    rows = runs["row"].to_numpy()[list(pair)]
    files = dict.fromkeys(found[place].name for place in np.searchsorted(counts, rows, "right"))
    model, dataset = (runs[name][pair[0]].as_py() for name in names[:2])
    hint = (
        "; where each file has a test set of its own, say which: NAME=FILE in place of FILE"
        if len(files) > 1
        else ""
    )
    raise UserError(f"{model} on {dataset} is there twice, in {' and in '.join(files)}{hint}")


def _metrics(records: Arranged) -> dict[str, str]:
    """The metric of every dataset's runs. Raises UserError where they differ."""
    found: dict[str, str] = {}
    pairs = records.runs.group_by(["dataset", "metric"], use_threads=False).aggregate([])
    for name, said in zip(*(pairs[name].to_pylist() for name in pairs.column_names), strict=True):
        if found.setdefault(name, said) != said:
            raise UserError(f"dataset {name}: some errors are on {found[name]}, some on {said}")
    return found


def _truths(files: Sequence[ImportedFile]) -> dict[str, Truth]:
    """The labels of every dataset with predictions. Raises UserError where two files differ."""
    found: dict[str, Truth] = {}
    for source in files:
        for dataset, truth in source.truths.items():
            known = found.setdefault(dataset, truth)
            if known.labels is None:
                found[dataset] = truth
            elif truth.kind != known.kind:
                raise UserError(
                    f"{source.name}: predictions on {dataset}: classes in one file, only whether "
                    f"they are correct in another"
                )
            elif truth.labels is not None and not np.array_equal(truth.labels, known.labels):
                raise UserError(f"{source.name}: other labels on {dataset} than in an earlier file")
    return found
