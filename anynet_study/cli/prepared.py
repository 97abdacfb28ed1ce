"""A study with everything opened that its commands need."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.cost.measured import Learned, learn
from anynet_study.dispatch.cost.model import expected_cost
from anynet_study.dispatch.plan import load_views, plan
from anynet_study.dispatch.planned import Plan
from anynet_study.study import Study, sample
from anynet_study.sweep import Sweep


@dataclass(frozen=True)
class Prepared:
    """A study, its sweep and population, its open datasets and its planned runs."""

    study: Study
    sweep: Sweep
    population: Population
    views: dict[str, DatasetView]
    planned: Plan

    def learned(self) -> Learned:
        """The planned runs with lengths predicted by those that this study has finished."""
        expected = expected_cost(self.sweep.launch.cluster, self.sweep.launch.slurm)
        return learn(self.planned, self.views, self.study.journals, expected)


def prepare(sweep_file: Path, overrides: Sequence[str]) -> Prepared:
    """Open what a sweep file asks for; the study begins, on disk, with `Study.begin`."""
    sweep = Sweep.load(sweep_file, overrides)
    views, population = load_views(sweep), sample(sweep.population)
    return Prepared(Study.of(sweep), sweep, population, views, plan(sweep, population, views))


def reopen(name: str) -> Prepared:
    """Open a study that was begun before."""
    study = Study.open(name)
    sweep, population = study.sweep(), study.population()
    views = load_views(sweep)
    return Prepared(study, sweep, population, views, plan(sweep, population, views))
