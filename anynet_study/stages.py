"""The stages after training that need several rooms: collect a study, and say if it is current."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.plan import evaluations_by_dataset, resolve_on
from anynet_study.dispatch.planned import PlannedRun
from anynet_study.files import write_text
from anynet_study.metrics import chance_error
from anynet_study.provenance import code_version
from anynet_study.store import CollectReport, collect
from anynet_study.study_folder import StudyFolder
from anynet_study.sweep import Sweep
from anynet_study.training.recipe import epoch_lengths, steps_per_epoch


def dataset_table(sweep: Sweep, views: Mapping[str, DatasetView]) -> pa.Table:
    """One row a dataset of the sweep, as the results store keeps it (`store.layout`)."""
    main = next(iter(sweep.recipes.values()))
    rows: list[dict[str, Any]] = []
    for label, view in views.items():
        entry, images = sweep.datasets[label], len(view.train_index)
        stated = main.for_dataset(label)
        recipe = resolve_on(view, stated, label)
        steps = steps_per_epoch(images, recipe.batch_size)
        rows.append(
            {
                "dataset": label,
                "base": entry.base,
                "role": sweep.role_of(label),
                "classes": len(view.classes),
                "train_images": images,
                "test_images": len(view.test_index),
                "metric": recipe.metric,
                "chance": chance_error(view.test_labels, len(view.classes), recipe.metric),
                "epochs": len(epoch_lengths(recipe, steps)),
                "content_hash": view.dataset.content_hash,
                "variant": entry.variant.model_dump_json(exclude_defaults=True),
                "class_names": json.dumps(view.classes),
            }
        )
    return pa.Table.from_pylist(rows)


def collect_study(
    study: StudyFolder,
    sweep: Sweep,
    population: Population,
    views: Mapping[str, DatasetView],
    planned: Sequence[PlannedRun],
    anew: bool = False,
) -> CollectReport:
    """Build `results.h5` from the journals and swap it in; `anew`: reading all of them again."""
    provenance = {
        "sweep": sweep.to_yaml(),
        "question": sweep.question,
        "sampling": json.dumps(population.sampling),
        "code_version": code_version(),
    }
    return collect(
        study.journals,
        study.results,
        population.table,
        dataset_table(sweep, views),
        {run.run_id: (run.dataset, run.recipe, run.replicate) for run in planned},
        provenance,
        recipes=list(sweep.recipes),
        anew=anew,
        truths={label: view.test_labels for label, view in views.items()},
        evaluations=_evaluation_names(sweep, views),
    )


def _evaluation_names(sweep: Sweep, views: Mapping[str, DatasetView]) -> dict[str, str]:
    """What the sweep calls each of its further evaluations, by id, in its order."""
    asked = evaluations_by_dataset(sweep, views).values()
    return {
        sets[name].evaluation_id: name
        for name in sweep.evaluations
        for sets in asked
        if name in sets
    }


def fingerprint(
    study: StudyFolder, sweep: Sweep, planned: Sequence[PlannedRun], resamples: int
) -> str:
    """Changes whenever the report of a study would; `resamples`: of its bootstrap."""
    journals = [(path.name, path.stat().st_size) for path in sorted(study.journals.glob("*.arrow"))]
    runs = [run.run_id for run in planned]
    parts = [code_version(), sweep.to_yaml(), runs, journals, resamples]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def report_is_current(study: StudyFolder, mark: str) -> bool:
    """Whether store and report were made from what `mark` is the fingerprint of."""
    made_from = _mark_file(study)
    made = study.results.exists() and study.report.exists() and made_from.exists()
    return made and made_from.read_text(encoding="utf-8") == mark


def mark_report(study: StudyFolder, mark: str) -> None:
    """Remember that store and report are made."""
    write_text(_mark_file(study), mark)


def _mark_file(study: StudyFolder) -> Path:
    return study.report.parent / ".made_from"
