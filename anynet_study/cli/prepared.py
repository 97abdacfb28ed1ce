"""A study with everything opened that its commands need."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.cost.learned import Learned, learn
from anynet_study.dispatch.cost.model import expected_cost
from anynet_study.dispatch.cost.remaining import kept_weights, with_what_is_left
from anynet_study.dispatch.plan import load_views, plan
from anynet_study.dispatch.planned import Plan
from anynet_study.dispatch.recorded import Recorded
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep


@dataclass(frozen=True)
class Prepared:
    """A study, its sweep and population, its open datasets and its planned runs."""

    study: StudyFolder
    sweep: Sweep
    population: Population
    views: dict[str, DatasetView]
    planned: Plan

    def learned(self, recorded: Recorded) -> Learned:
        """The planned runs with what is left of them, as runs that are finished predict it."""
        expected = expected_cost(self.sweep.launch.cluster, self.sweep.launch.slurm)
        learned = learn(self.planned, self.views, self.study.journals, expected)
        kept = kept_weights(self.study.weights_folder)
        left = with_what_is_left(learned.planned, recorded, kept, learned.cost)
        return learned._replace(planned=left)


def prepare(sweep_file: Path, overrides: Sequence[str]) -> Prepared:
    """Open what a sweep file asks for; the study begins, on disk, with `StudyFolder.begin`."""
    sweep = Sweep.load(sweep_file, overrides)
    views, population = load_views(sweep), sample(sweep.population)
    return Prepared(StudyFolder.of(sweep), sweep, population, views, plan(sweep, population, views))


def reopen(name: str) -> Prepared:
    """Open a study that was begun before."""
    study = StudyFolder.open(name)
    sweep, population = study.sweep(), study.population()
    views = load_views(sweep)
    return Prepared(study, sweep, population, views, plan(sweep, population, views))
