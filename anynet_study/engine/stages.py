"""The stages of a study that need several rooms: launch it, train what is missing, and collect."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from anynet_study.core import arrow
from anynet_study.core.errors import UserError, counted, first_line
from anynet_study.core.metrics import chance_error
from anynet_study.core.provenance import code_version
from anynet_study.data import DatasetView, KeptDatasets
from anynet_study.engine.dispatch import (
    Allowed,
    Executor,
    JournalReader,
    LaunchOptions,
    OpenStudy,
    Recorded,
    changes_in_words,
    check_may_begin,
    damage_in_words,
    launch_missing,
    open_study,
    open_sweep,
    train_all,
    trial_table,
)
from anynet_study.engine.planning import evaluations_by_dataset, resolve_on
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.engine.sweep import Sweep, sweep_path
from anynet_study.engine.training import epoch_lengths, steps_per_epoch
from anynet_study.store import (
    CollectReport,
    OnlyInStore,
    collect,
    read_journals,
    restore_journals,
)


def dataset_table(sweep: Sweep, views: Mapping[str, DatasetView]) -> pa.Table:
    """One row per dataset of the sweep, as the results store keeps it (`store.layout`)."""
    rows: list[dict[str, Any]] = []
    for label, view in views.items():
        entry, images = sweep.datasets[label], len(view.train_index)
        stated = sweep.recipes[sweep.standing_for(label)].for_dataset(label)
        recipe = resolve_on(view, stated, label)
        steps = steps_per_epoch(images, recipe.batch_size)
        rows.append(
            {
                "dataset": label,
                "base": "+".join(entry.bases),
                "role": sweep.role_of(label),
                "classes": len(view.classes),
                "train_images": images,
                "test_images": len(view.test_index),
                "errors_of": sweep.standing_for(label) if sweep.errors_of else "",
                "recipes": json.dumps(sweep.recipes_on(label)),
                "metric": recipe.metric,
                "chance": chance_error(view.test_labels, len(view.classes), recipe.metric),
                "epochs": len(epoch_lengths(recipe, steps)),
                "content_hash": view.dataset.content_hash,
                "variant": entry.model_dump_json(exclude_defaults=True, exclude={"role"}),
                "class_names": json.dumps(view.classes),
            }
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return pa.table(
        {
            name: arrow.texts(told) if isinstance(told[0], str) else arrow.numbers(np.array(told))
            for name, told in columns.items()
        }
    )


def launch(
    sweep: Sweep | Path | str,
    executor: Executor | None = None,
    changed: bool = False,
) -> list[Any]:
    """Submit what is missing of a study as `anynet-study launch` does, and return at once.

    `sweep` is one that was made in Python, its file, or the name of a shipped one. `executor`
    is anything with `submit(function)`, such as one of `concurrent.futures`, Dask, Parsl or mpi4py:
    it is given as many functions as there are runs (at most `launch.workers`, or 1,000), each a
    worker that takes what nobody is at until nothing is left. Those of submitit for Slurm, this
    machine or this process, with a user's own options (partition, container, lines of setup), are
    used as by the command; by default the sweep's `launch` says where. An executor is not changed:
    each array of jobs is submitted by a copy, with the study's mark as comment. Returns the
    futures, or jobs, that were submitted now; what is in a job already is not submitted again. To
    know when a study is done, ask `anynet-study status`: results are in the study's journals, and
    that of a future is None. Jobs of a `DebugExecutor` train in this process, when their `result()`
    is asked for.
    `changed`: as for `run`.

    Raises UserError for what cannot be submitted, and WorkFailedError where Slurm does not answer
    or refuses.

    >>> import anynet_study, submitit
    >>> executor = submitit.AutoExecutor("logs", cluster="slurm")  # doctest: +SKIP
    >>> executor.update_parameters(slurm_partition="gpu", gpus_per_node=1)  # doctest: +SKIP
    >>> jobs = anynet_study.launch("sweeps/paper.yaml", executor)  # doctest: +SKIP
    """
    opened = open_sweep(sweep_path(sweep) if isinstance(sweep, str) else sweep)
    options = LaunchOptions(allowed=Allowed(changed=changed))
    return list(launch_missing(opened, options, executor)[1])


def train_and_collect(study: OpenStudy, tell: Callable[[str], None]) -> None:
    """Train here what is missing of a pilot and collect it, without a report.

    It may try other values than before: what it has of these is kept.
    """
    check_may_begin(study, Allowed(changed=True))
    with study.folder.locked():
        trained_and_collected(study, False, tell)


def trained_and_collected(
    study: OpenStudy, retry_failed: bool, tell: Callable[[str], None]
) -> OpenStudy:
    """Train here what is missing of a study and collect it: the study with all its runs.

    The caller holds the lock of its folder. `tell` gets lines for people. Raises what
    `dispatch.local.train_all` raises.
    """
    told = [
        f"warning: {line}" for line in damage_in_words(Recorded.read(study.folder.journals).damage)
    ]
    for line in told:
        tell(line)
    study.begin()
    study = _trained(study, retry_failed)
    for line in collect_warnings(collect_study(study)):
        if line not in told:
            tell(line)
    return study


def _trained(study: OpenStudy, retry_failed: bool) -> OpenStudy:
    """Train what is missing, and what follows from it: the study with all its runs."""
    folder = study.folder
    while True:
        reader = JournalReader(folder.journals)
        train_all(folder, study.sweep, study.calibrated(reader).plan, retry_failed)
        grown = study.planned_by(reader.read())
        if grown.plan.ids() == study.plan.ids():
            return grown
        study, retry_failed = grown, False


def collect_warnings(made: CollectReport) -> list[str]:
    """Lines for people: damaged journals, and runs that are not of the sweep."""
    lines = [f"warning: {problem}" for problem in made.problems]
    if made.unplanned:
        lines.append(
            f"note: {made.unplanned} recorded runs are not of this sweep as it is now (other data, "
            "recipe or seeds): kept, not analysed"
        )
    return lines


def collect_study(study: OpenStudy, anew: bool = False) -> CollectReport:
    """Build `results.h5` from the journals and swap it in; `anew`: as of `store.collect`."""
    recorded = Recorded.read(study.folder.journals) if study.sweep.trials else None
    study = study.planned_by(recorded) if recorded else study
    sweep, population, views = study.sweep, study.population, study.views
    provenance = {
        "sweep": sweep.to_yaml(),
        "question": sweep.question,
        "sampling": json.dumps(population.sampling),
        "code_version": code_version(),
    }
    made = collect(
        study.folder.journals,
        study.folder.results,
        population.table,
        dataset_table(sweep, views),
        {it.run_id: (it.dataset, study.plan.called(it), it.replicate) for it in study.plan},
        provenance,
        recipes=list(sweep.recipes),
        anew=anew,
        truths={label: view.test_labels for label, view in views.items()},
        evaluations=_evaluation_names(study),
        trials=trial_table(study.plan, views, recorded) if recorded else None,
    )
    if made.unplanned and (why := study.older_meaning(Recorded.read(study.folder.journals))):
        made = replace(made, problems=[f"{study.folder.folder}: {why}", *made.problems])
    if edited := study.folder.edited():
        said = f"sweep.yaml: edited since the last launch: {changes_in_words(edited)}"
        return replace(made, problems=[said, *made.problems])
    return made


def restore_study(study: OpenStudy) -> OnlyInStore:
    """Write what only the store of a study has into a new journal; how much that is.

    Raises UserError where another process is at the study, and as `store.restore_journals`.
    """
    folder = study.folder
    with folder.locked():
        return restore_journals(folder.results, folder.journals, folder.new_journal().stem)


def bring_up_to_date(folder: Path, tell: Callable[[str], None]) -> None:
    """Collect the study in a folder, if it has recorded anything, for a command that reads it.

    `tell` gets a line for people: how many runs are new, or why the results stay as they are.
    """
    results, journals = StudyFolder(folder).results, StudyFolder(folder).journals
    if not results.exists() and not len(read_journals(journals)):
        return
    try:
        made = collect_study(open_study(folder))
    except (UserError, OSError) as error:
        tell(f"note: {results} is older than the journals, and stays so: {first_line(error)}")
        return
    tell(f"{results}: collected, with {counted(made.new, 'new run')}")


def _evaluation_names(study: OpenStudy) -> dict[str, tuple[str, str]]:
    """Return what the sweep calls each of its further evaluations, and its kind, by id, in its
    order.
    """
    sweep, kept = study.sweep, KeptDatasets(study.folder.datasets)
    asked = evaluations_by_dataset(sweep, study.views, kept).values()
    return {
        evaluation_set.evaluation_id: (called, evaluation_set.kind)
        for name in sweep.evaluations
        for sets in asked
        for called, evaluation_set in sets.items()
        if called == f"{name}{evaluation_set.moment.suffix}"
    }
