"""A study that is opened: with all that launching it and looking at it need."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anynet_study.data import DatasetView, KeptDatasets, keep_labels, load_dataset
from anynet_study.design_space import Population
from anynet_study.dispatch.calibration import (
    Calibrated,
    calibrate,
    expected_on,
    kept_weights,
    with_what_is_left,
)
from anynet_study.dispatch.cost.prices import expected_cost
from anynet_study.dispatch.plan import NO_DIGESTS, Plan, make_plan, plan_of
from anynet_study.dispatch.recorded import JournalReader, Recorded
from anynet_study.dispatch.settings import datasets_of, load_views
from anynet_study.errors import UserError
from anynet_study.files import write_text
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep


@dataclass(frozen=True)
class OpenStudy:
    """A study's folder, sweep and population, its open datasets and its planned runs."""

    folder: StudyFolder
    sweep: Sweep
    population: Population
    #: By the sweep's labels.
    views: dict[str, DatasetView]
    plan: Plan

    def begin(self) -> None:
        """Begin the study on disk, or go on with it; raises as `StudyFolder.begin`.

        The study's folder then holds the labels of the datasets and the digests of the weight files
        that runs start from, so that a study can be looked at and collected without these files.
        """
        self.folder.begin(self.sweep, self.population)
        tests = map(load_dataset, datasets_of(self.sweep)[1])
        trained = (part for view in self.views.values() for part in view.dataset.parts)
        for dataset in (*trained, *tests):
            keep_labels(dataset, self.folder.datasets)
        if digests := self.plan.digests:
            write_text(self.folder.digests_file, json.dumps(digests, indent=1))

    def planned_by(self, recorded: Recorded) -> "OpenStudy":
        """The study with the runs that follow from what is recorded: further trials, if it tunes.

        UserError as `make_plan`.
        """
        if not self.sweep.trials:
            return self
        launch, before = self.sweep.launch, self.plan
        cost, judge = expected_cost(launch.cluster, launch.slurm), recorded.validation_error
        plan = plan_of(
            self.sweep, self.population, before.settings, cost, judge, digests=before.digests
        )
        return replace(self, plan=plan)

    def calibrated(self, reader: JournalReader) -> Calibrated:
        """The planned runs with what is left of them, as runs that have finished predict it."""
        recorded = reader.read()
        expected = partial(expected_on, self.sweep.launch)
        calibrated = calibrate(self.plan, reader.timings(), expected)
        kept = kept_weights(self.folder.weights_folder)
        left = with_what_is_left(calibrated.plan, recorded, kept, calibrated.cost)
        return Calibrated(left, calibrated.cost, calibrated.ended)


def open_sweep(sweep: Path | Sweep, overrides: Sequence[str] = ()) -> OpenStudy:
    """Open what a sweep, or its file, asks for; all data are read to see whether they have changed.

    `overrides` are of a file. The study begins, on disk, with `StudyFolder.begin`.
    """
    if not isinstance(sweep, Sweep):
        sweep = Sweep.load(sweep, overrides)
    return _opened(StudyFolder.of(sweep), sweep, sample(sweep.population), whole=True)


def open_study(name: str | Path, changes: Sequence[str] = (), whole: bool = False) -> OpenStudy:
    """Open a study that was begun before; only `launch.*` of its sweep can be changed.

    `whole`: with the packed datasets, which are read (see `load_views`). Otherwise with those of
    its last launch, of which the study keeps all but the images.
    """
    for change in changes:
        if not change.startswith("launch."):
            raise UserError(f"{change}: a study stays what it is; only launch.* can be changed")
    folder = StudyFolder.open(name)
    sweep, population = Sweep.load(folder.sweep_file, changes), folder.population()
    return _opened(folder, sweep, population, whole)


def _opened(folder: StudyFolder, sweep: Sweep, population: Population, whole: bool) -> OpenStudy:
    kept = None if whole else KeptDatasets(folder.datasets)
    views = load_views(sweep, whole, kept)
    digests = NO_DIGESTS if whole else folder.digests()
    plan = make_plan(sweep, population, views, digests=digests, kept=kept)
    study = OpenStudy(folder, sweep, population, views, plan)
    return study.planned_by(Recorded.read(folder.journals)) if sweep.trials else study
