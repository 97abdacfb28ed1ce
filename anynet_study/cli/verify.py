"""`anynet-study verify`: whether a store and its journals are whole and agree."""

import itertools
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from anynet_study.cli.options import AsJson, StoreName
from anynet_study.cli.tables import harmless
from anynet_study.core.errors import UserError, WorkFailedError, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anynet_study.data import DatasetView
    from anynet_study.engine.study_folder import StudyFolder
    from anynet_study.store import Finding

#: What to do about a finding, by how it can be repaired.
REMEDIES = {
    "none": "nothing to do",
    "data": "runs already recorded stay as they are; others cannot be trained before",
    "sweep": "undo it (a copy is in {launched}), or launch it",
    "labels": "launch again, with the dataset in the data directory: that copies them",
    "error": "one of the two is wrong: see which journal has them, and move it away if it is that",
    "population": "get the file back, or move it away and launch again, which draws it",
    "release": "get the release again, or export its study again",
    "key": "withdraw the key, and export the study again",
    "scores": "get the file back; without it, the run has no interval of its AUROC",
    "keep": "anynet-study collect {name} --restore writes journals of them again",
}


def verify(store: StoreName, as_json: AsJson = False) -> None:
    """Check that results are whole and agree with their sources.

    Of a store: everything in it is read and compared with the checksums that it was written with.
    Of a study, its journals as well: the store is built again from them and compared; and the
    datasets that it trains and tests on, file by file. Of a release, every file is compared with
    its SHA256SUMS and with its store, and searched for what looks like a key. Nothing is changed.
    Exit code 1 if anything is wrong. Runs that a study still lacks are not wrong: status counts
    them.

    \b
    Examples:
      anynet-study verify quickstart
      anynet-study verify results.h5 --json
    """
    from anynet_study.store import is_release, verify_journals

    if is_release(Path(store)):
        results, study, found = None, None, _in_release(Path(store))
        read = sorted(path.name for path in Path(store).iterdir())
    else:
        results, study = _places(store)
        found = [] if results is None else _in_store(results, of_study=study is not None)
        read = [] if results is None else [results.name]
    if study is not None:
        whole = all(finding.note for finding in found)
        found += verify_journals(study.journals, results if whole else None)
        found += _in_sweep(study) + _in_population(study, results)
        in_datasets, datasets = _in_datasets(study)
        found += in_datasets
        read += _files_of(study) + datasets
    wrong = [finding for finding in found if not finding.note]
    if as_json:
        rows = [asdict(finding) | {"remedy": _remedy(finding, store, study)} for finding in found]
        print(json.dumps({"fine": not wrong, "findings": rows, "read": read}, indent=2))
    else:
        _print(found, store, study)
        print(harmless(f"read: {', '.join(read)}"))
    if wrong:
        raise WorkFailedError(f"{store}: {counted(len(wrong), 'problem')} found")


def _files_of(study: "StudyFolder") -> list[str]:
    """Return what was read of a study beside its store and datasets."""
    journals, scores = (
        len([*it.glob("[!.]*")]) for it in (study.journals, study.folder / "scores")
    )
    files = (study.population_file, study.sweep_file, study.launched_file)
    return [
        counted(journals, "journal"),
        *(path.name for path in files if path.exists()),
        *([counted(scores, "file") + " of scores"] if scores else []),
    ]


def _in_store(results: Path, of_study: bool) -> "list[Finding]":
    """Return what is wrong with a store. If `of_study`, it may be unreadable: it can be built
    again.
    """
    from anynet_study.store import Finding, NewerStoreError
    from anynet_study.store import verify as verify_store

    try:
        return verify_store(results, in_study=of_study)
    except NewerStoreError:
        raise
    except UserError as error:
        if not of_study:
            raise
        return [Finding(results.name, str(error).removeprefix(f"{results}: "))]


def _in_release(folder: Path) -> "list[Finding]":
    """Return what is wrong with a release, as others get it."""
    from anynet_study.store import Finding, verify_bundle

    try:
        return list(verify_bundle(folder))
    except UserError as error:
        return [Finding(folder.name, str(error).removeprefix(f"{folder}: "))]


def _in_sweep(study: "StudyFolder") -> "list[Finding]":
    """Return what was edited in the study's sweep file: the analyses follow it, the runs do not."""
    from anynet_study.engine.dispatch import changes_in_words
    from anynet_study.store import Finding

    edited = study.edited() if study.sweep_file.exists() else {}
    said = f"edited since the last launch: {changes_in_words(edited)}"
    return [Finding(study.sweep_file.name, said, "sweep")] if edited else []


def _in_population(study: "StudyFolder", results: Path | None) -> "list[Finding]":
    """Tell whether the study's population is whole, and the one that its store was collected
    with.
    """
    from anynet_study.store import Finding, ResultStore

    name = study.population_file.name
    try:
        population = study.population()
        if results is None:
            return []
        stored = ResultStore(results).architectures()
    except UserError as error:
        said = str(error).removeprefix(f"{study.population_file}: ")
        return [Finding(name, said, "population")]
    now = population.to_pandas().head(len(stored))  # since then it may have been extended
    shared = [column for column in stored.columns if column in now]
    for column in shared:
        if not now[column].astype(object).equals(stored[column].astype(object)):
            what = f"is not the population of {results.name}: column {column} differs"
            return [Finding(name, what, "population")]
    return []


def _in_datasets(study: "StudyFolder") -> "tuple[list[Finding], list[str]]":
    """Tell which of the study's datasets have changed, or are not in this data directory; what was
    read.

    Of those that are here all files, of the others the labels that the study keeps.
    """
    from anynet_study.data import BUILT_IN, KeptDatasets, dataset_folder, load_dataset
    from anynet_study.engine.planning import datasets_of, make_views
    from anynet_study.store import Finding

    if not study.sweep_file.exists():
        return [], []
    sweep, kept = study.sweep(), KeptDatasets(study.datasets)
    found, whole, read = [], {}, list[str]()
    for name in itertools.chain(*datasets_of(sweep)):
        here = dataset_folder(name).exists()  # damaged or not
        if not here and name not in BUILT_IN:
            found.append(Finding(name, "is not here, so its images are not checked", "none"))
        try:
            labels, where = kept.find(name), f"{study.datasets.name}/{name}"
            opened = load_dataset(name, whole=True) if here else labels
            read += [f"data/{name}"] * here + [where] * (labels is not None)
            if labels is None and study.launched_file.exists():
                found.append(Finding(where, "the study's copy of its labels is gone", "labels"))
            elif labels and opened and labels.content_hash != opened.content_hash:
                found.append(Finding(where, "is a copy of another dataset's labels", "labels"))
        except UserError as error:
            found.append(Finding(name, str(error), "data"))
            continue
        if opened is not None:
            whole[name] = opened
    return found + _of_other_runs(study, make_views(sweep, whole)), read


def _of_other_runs(study: "StudyFolder", views: "Mapping[str, DatasetView]") -> "list[Finding]":
    """Datasets that are whole, but not what any recorded run was trained on, as when two folders
    were exchanged."""
    from anynet_study.store import Finding, journals_in, run_batches

    trained: dict[str, set[str]] = {}
    for path in journals_in(study.journals):
        for batch, _ in run_batches(path):
            texts = (batch[name].to_pylist() for name in ("dataset", "spec"))
            for dataset, spec in zip(*texts, strict=True):
                data = json.dumps(json.loads(spec)["data"], sort_keys=True)
                trained.setdefault(dataset, set()).add(data)
    return [
        Finding(label, "its images or classes are not those of any recorded run on it", "data")
        for label, view in views.items()
        if label in trained and json.dumps(view.identity, sort_keys=True) not in trained[label]
    ]


def _places(where: str) -> "tuple[Path | None, StudyFolder | None]":
    """The store, if there is one; and the study, where one is named."""
    from anynet_study.engine.study_folder import StudyFolder

    if Path(where).is_file():
        return Path(where), None
    study = StudyFolder.open(where)
    if not study.results.exists() and not study.journals.is_dir():
        raise UserError(f"{study.folder}: there is nothing to verify yet: neither runs nor results")
    return (study.results if study.results.exists() else None), study


def _remedy(finding: "Finding", name: str, study: "StudyFolder | None") -> str:
    """Return what to do about it: a few words and a command."""
    if finding.repair in REMEDIES:
        launched = study.launched_file if study else name
        return REMEDIES[finding.repair].format(name=name, launched=launched)
    if study is None:
        return "collect its study anew, import it again, or get the file again"
    if finding.repair == "train":
        return f"train what is lost: anynet-study launch {study.sweep_file}"
    return f"build the store anew: anynet-study collect {name} --anew"


def _print(found: "list[Finding]", name: str, study: "StudyFolder | None") -> None:
    """Print findings, not as a table: names and commands must be easy to copy."""
    if not found:
        print(f"{name}: all is well with what is recorded")
    for finding in found:
        print(harmless(f"{finding.where}: {finding.what}\n  {_remedy(finding, name, study)}"))
