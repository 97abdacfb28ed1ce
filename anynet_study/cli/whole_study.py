"""A whole study in one call, of both wings: train what is missing, collect, load and report.

The engine trains and collects, the analysis reports; only here, and in commands, do they meet.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from anynet_study.analysis.analyses import load
from anynet_study.analysis.study import Study
from anynet_study.core.files import read_regular, sha256_of, write_text
from anynet_study.core.provenance import code_version
from anynet_study.engine.dispatch import (
    Allowed,
    OpenStudy,
    check_may_begin,
    finished_by_others,
    open_sweep,
)
from anynet_study.engine.stages import trained_and_collected
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep, sweep_path
from anynet_study.store import find_store


def run(
    sweep: Sweep | Path | str,
    resamples: int = 10_000,
    retry_failed: bool = False,
    changed: bool = False,
) -> Study:
    """Do a whole study on this machine, as `anynet-study run` does, and load it.

    `sweep` is one that was made in Python, its file, or the name of a shipped one. The study is in
    `studies/NAME` of the current folder; what is finished there is not trained again. `resamples`:
    of the bootstrap.
    `changed`: go on with a sweep that was changed so that recorded runs of the study stay unused.
    Raises UserError for what cannot be run; failed runs are rows of `study.store`.

    >>> import anynet_study
    >>> sweep = anynet_study.Sweep(
    ...     name="first",
    ...     population={"count": 4, "flops": [0.4e6, 0.6e6], "resolution": 8, "classes": 10},
    ...     source="digits",
    ...     datasets={"digits": {}, "gratings": {}},
    ...     recipes={"basic": {"epochs": 1}},
    ... )
    >>> study = anynet_study.run(sweep)  # doctest: +SKIP
    """
    opened = open_sweep(sweep_path(sweep) if isinstance(sweep, str) else sweep)
    done = run_study(opened, resamples, retry_failed, Allowed(changed=changed), print)
    return done or load(opened.folder.folder, resamples=resamples)


def run_study(
    study: OpenStudy,
    resamples: int,
    retry_failed: bool,
    allowed: Allowed,
    tell: Callable[[str], None],
) -> Study | None:
    """Train here what is missing of a study, collect it and write its report; None if all is done.

    `resamples`: of the report's bootstrap. `tell` gets lines for people. Raises UserError where
    another process is at the study, as `check_may_begin`, and as `dispatch.local.train_all`.
    """
    folder = study.folder
    if not retry_failed:
        if finished_by_others(study):
            find_store(folder.folder)  # what cannot be read is not claimed to be there
            return None
        if _report_is_current(folder, fingerprint(study, resamples)):
            return None
    check_may_begin(study, allowed)
    with folder.locked():
        study = trained_and_collected(study, retry_failed, tell)
        tell("writing the report")
        reported = _write_report(folder, resamples)
        write_text(_mark_file(folder), fingerprint(study, resamples))
    return reported


def _write_report(folder: StudyFolder, resamples: int) -> Study:
    """Write the report; the study, with all its tables made."""
    from anynet_study.analysis.report import write_report

    study = load(folder.results, resamples=resamples)
    write_report(study, folder.report.parent)
    return study


def fingerprint(study: OpenStudy, resamples: int) -> str:
    """Changes whenever the report of a study would; `resamples`: of its bootstrap."""
    paths = sorted(study.folder.journals.glob("*.arrow"))
    journals = [(path.name, sha256_of(path)) for path in paths]
    parts = [code_version(), study.sweep.to_yaml(), study.plan.ids(), journals, resamples]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _report_is_current(folder: StudyFolder, mark: str) -> bool:
    """Tell whether store and report were made from what `mark` is the fingerprint of.

    Raises UserError where the store cannot be opened, or is of another study.
    """
    made_from = _mark_file(folder)
    if not all(path.exists() for path in (folder.results, folder.report, made_from)):
        return False
    find_store(folder.results)  # what is no store, or another study's, is not claimed to be made
    try:
        return read_regular(made_from) == mark.encode()
    except OSError:
        return False


def _mark_file(folder: StudyFolder) -> Path:
    return folder.report.parent / ".made_from"
