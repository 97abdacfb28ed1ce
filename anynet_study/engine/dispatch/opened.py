"""A study that is opened: with all that launching it and looking at it need."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from anynet_study.core.errors import UnreadableError, UserError, counted
from anynet_study.core.files import write_text
from anynet_study.data import DatasetView, KeptDatasets, keep_labels, load_dataset
from anynet_study.design_space import Population
from anynet_study.engine.dispatch.calibration import (
    Calibrated,
    calibrate,
    expected_on,
    kept_weights,
    with_what_is_left,
)
from anynet_study.engine.dispatch.recorded import JournalReader, Recorded
from anynet_study.engine.planning import (
    NO_DIGESTS,
    CostModel,
    Plan,
    datasets_of,
    expected_cost,
    load_views,
    make_plan,
    plan_of,
)
from anynet_study.engine.study_folder import StudyFolder, functions_now, sample
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import SEMANTICS
from anynet_study.store import OnlyInStore, journals_in, run_batches


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
        if self.earlier is not None:
            measured = self.earlier.calibrated(JournalReader(self.folder.journals)).cost
            if measured.runs:
                write_text(self.folder.measured_file, measured.to_json())
        self.folder.begin(self.sweep, self.population)
        tests = map(load_dataset, datasets_of(self.sweep)[1])
        trained = (part for view in self.views.values() for part in view.dataset.parts)
        for dataset in (*trained, *tests):
            keep_labels(dataset, self.folder.datasets)
        if digests := self.plan.digests:
            write_text(self.folder.digests_file, json.dumps(digests, indent=1))
        if functions := functions_now(self.population):
            known = {**self.folder.functions(), **functions}
            write_text(self.folder.functions_file, json.dumps(known, indent=1))
        # Last: it says that the copies are there.
        write_text(self.folder.launched_file, self.sweep.to_yaml())

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
        calibrated = calibrate(self.plan, reader.timings(), partial(self._expected, reader))
        kept = kept_weights(self.folder.weights_folder)
        left = with_what_is_left(calibrated.plan, recorded, kept, calibrated.cost)
        return Calibrated(left, calibrated.cost, calibrated.ended)

    def _expected(self, reader: JournalReader) -> CostModel:
        """The cost before a run of this sweep has finished: as runs of its earlier forms took."""
        earlier, file = self.earlier, self.folder.measured_file
        if earlier is not None and (cost := earlier.calibrated(reader).cost).runs:
            return cost
        return CostModel.of_json(file) if file.is_file() else expected_on(self.sweep.launch)

    @cached_property
    def earlier(self) -> "OpenStudy | None":
        """The study as it was launched last, if the sweep was another one then."""
        if not self.changed_keys:
            return None
        try:
            return open_study(self.folder.folder)
        except UnreadableError:
            raise
        except UserError:  # data or files that it needs are gone
            return None

    @cached_property
    def changed_keys(self) -> Mapping[str, tuple[str, str]]:
        """Return what the sweep changes of that in the study's folder (`Sweep.changes_since`)."""
        if not self.folder.sweep_file.exists():
            return {}
        return self.sweep.changes_since(self.folder.sweep())

    def check_journals(self, recorded: Recorded) -> None:
        """Raise UserError where the study's store has runs or evaluations that no journal has.

        And as `Recorded.lost`.
        """
        if lost := recorded.lost(self.folder.results, self.plan):
            raise UserError(lost_in_words(self.folder, lost))

    def older_meaning(self, recorded: Recorded) -> str:
        """Why no recorded run is one of the sweep, if runs meant something else then; else "".

        A version raises `SEMANTICS` when the same specification gives other results: its runs have
        other ids.
        """
        if not recorded.runs or any(run_id in recorded.runs for run_id in self.plan.ids()):
            return ""
        for path in journals_in(self.folder.journals):
            for batch, _ in islice(run_batches(path), 1):
                then = json.loads(batch["spec"][0].as_py()).get("semantics")
                if then != SEMANTICS:
                    return (
                        f"none of its {counted(len(recorded.runs), 'recorded run')} is one of this "
                        f"sweep: they were trained by a version whose runs mean something else "
                        f"(semantics {then}, now {SEMANTICS}: see the change log)"
                    )
        return ""

    def edited_functions(self, recorded: Recorded) -> str:
        """Which functions have another source than the study's finished runs of them; "" if none.

        Edits of a function whose runs all failed, or none is recorded, change no result.
        """
        launched, now = self.folder.functions(), functions_now(self.population)
        edited = [name for name, digest in launched.items() if now.get(name, digest) != digest]
        if not edited:
            return ""
        finished = Counter(
            run.architecture
            for run in self.plan
            if recorded.runs.get(run.run_id, "failed") != "failed"
        )
        ids = dict(zip(self.population.names, self.population.ids, strict=True))
        return "; ".join(
            f"the source of {name} has changed since {counted(finished[ids.get(name, '')], 'run')}"
            for name in edited
            if finished[ids.get(name, "")]
        )

    def changes(self, recorded: Recorded) -> "Changes | None":
        """Return what the sweep changes of the study; None where every run of it stays in use."""
        if not self.changed_keys:
            return None
        now = self.planned_by(recorded).plan.by_id
        before = self.earlier.planned_by(recorded).plan.ids() if self.earlier else recorded.runs
        used = [run_id for run_id in before if run_id in recorded.runs]
        unused = sum(run_id not in now for run_id in used)
        return Changes(self.changed_keys, unused, len(used)) if unused else None


def lost_in_words(folder: StudyFolder, lost: OnlyInStore) -> str:
    """Return what to do where the store of a study has more than its journals."""
    return (
        f"{folder.journals}: {lost} of {folder.results.name} are in no journal (any more); to have "
        f"them back: anynet-study collect {folder.folder} --restore; to do without: move "
        f"{folder.results} away"
    )


def damage_in_words(damage: Mapping[str, str]) -> list[str]:
    """Return what is wrong with journals (`Recorded.damage`), a line each."""
    return [f"{name}: {said}" for name, said in damage.items()]


#: Changed keys that a message names.
MOST_NAMED = 8


@dataclass(frozen=True)
class Changes:
    """What a sweep changes of a study that was launched before, so that runs are left unused."""

    #: By key: what it was and what it is now, as in a sweep file; "" where there is none.
    keys: Mapping[str, tuple[str, str]]
    #: Recorded runs of the study that the changed sweep does not ask for, and all recorded ones.
    unused: int
    recorded: int

    def __str__(self) -> str:
        """The changes in a line."""
        return (
            f"{changes_in_words(self.keys)}; {self.unused} of its "
            f"{counted(self.recorded, 'recorded run')} would stay unused"
        )


def changes_in_words(keys: Mapping[str, tuple[str, str]]) -> str:
    """Changed keys in a line, with what each was and is: `source (mnist before, digits now)`."""
    told = []
    for key, (before, now) in keys.items():
        words = f"{before or 'none'} before, {now or 'none'} now"
        told.append(f"{key} ({'added' if not before else 'removed' if not now else words})")
    more = [f"and {len(told) - MOST_NAMED} more"] if len(told) > MOST_NAMED else []
    return ", ".join([*told[:MOST_NAMED], *more])


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
    if (part := folder.part()) is not None:  # its other runs are trained elsewhere
        plan = plan.find(part)
    study = OpenStudy(folder, sweep, population, views, plan)
    return study.planned_by(Recorded.read(folder.journals)) if sweep.trials else study
