"""Files of results to a results store."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from anynet_study.errors import UserError
from anynet_study.store.exporting import checked_bundle
from anynet_study.store.importing.building import build
from anynet_study.store.importing.datasets import Known
from anynet_study.store.importing.options import ImportOptions
from anynet_study.store.importing.part import Part
from anynet_study.store.importing.predicted_part import predicted_part
from anynet_study.store.importing.stored_part import stored_part
from anynet_study.store.importing.table_part import table_part
from anynet_study.store.opening import open_store
from anynet_study.store.results import ResultStore

STORES = (".h5", ".hdf5")


@dataclass(frozen=True)
class Files:
    """What is imported."""

    #: Tables of errors or accuracies, and results stores.
    tables: Sequence[Path] = ()
    #: Dataset and file of predictions on it.
    predictions: Sequence[tuple[str, Path]] = ()
    #: By dataset: file of its true classes.
    labels: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportReport:
    """What an import made."""

    models: int
    datasets: int
    runs: int
    #: Cells of models x datasets without an error of the main recipe.
    gaps: int
    #: Columns that describe the models.
    described: tuple[str, ...]
    #: Median of these errors on each dataset that has any, in percent.
    medians: Mapping[str, float]
    #: Whether values were taken for errors because nothing says what they are.
    assumed: bool


def import_results(files: Files, out: Path, options: ImportOptions, known: Known) -> ImportReport:
    """Make the results store `out` of files; `known` is what is said of the datasets.

    A store at `out` is replaced if it was imported too, which is also how one is extended: by
    importing it with more files. Raises UserError for whatever is unclear or wrong in the files,
    and then nothing is written.
    """
    if not files.tables and not files.predictions:
        raise UserError("nothing to import: name at least one file")
    if idle := set(files.labels) - {dataset for dataset, _ in files.predictions}:
        raise UserError(f"--labels: no --predictions on {min(idle)}")
    _check_target(out)
    with ExitStack() as stack:
        parts = list(_parts(files, options, known, stack))
        build(parts, known, out)
    return report_of(out, any(part.assumed for part in parts))


def report_of(store: Path, assumed: bool = False) -> ImportReport:
    """What is in a store that was just made."""
    with ResultStore(store) as opened:
        errors, runs = opened.errors(), opened.runs(["run_id"])
        described = tuple(opened.columns("architectures")[1:])
    return ImportReport(
        models=len(errors),
        datasets=len(errors.columns),
        runs=len(runs),
        gaps=int(errors.isna().sum().sum()),
        described=described,
        medians=errors.median().dropna().to_dict(),
        assumed=assumed,
    )


def _parts(files: Files, options: ImportOptions, known: Known, stack: ExitStack) -> list[Part]:
    paths = [*files.tables, *(path for _, path in files.predictions)]
    labels = _journal_names(paths)
    parts = []
    for path in files.tables:
        if path.is_dir():
            path = checked_bundle(path)
        if path.suffix.lower() in STORES:
            parts.append(stored_part(path, stack.enter_context(open_store(path))))
        else:
            parts.append(table_part(path, labels[path], options, known))
    for dataset, path in files.predictions:
        truth = files.labels.get(dataset)
        parts.append(predicted_part(path, dataset, labels[path], truth, options.recipe, known))
    return parts


def _journal_names(paths: Sequence[Path]) -> dict[Path, str]:
    """What the store calls its files: their names, or paths where names are the same."""
    for path in paths:
        if paths.count(path) > 1:
            raise UserError(f"{path}: given twice")
    names = [path.name for path in paths]
    return {path: path.name if names.count(path.name) == 1 else str(path) for path in paths}


def _check_target(out: Path) -> None:
    """Raise UserError for a file that is no store, and for one that a study made."""
    if out.exists() and "import" not in ResultStore(out).provenance:
        raise UserError(f"{out}: holds results of a study, not imported ones; give another -o")
