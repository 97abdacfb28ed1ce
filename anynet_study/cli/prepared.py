"""A study with everything opened that its commands need."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anynet_study import study as studies
from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.plan import PlannedRun, load_views, plan
from anynet_study.study import Study
from anynet_study.sweep import Sweep


@dataclass(frozen=True)
class Prepared:
    """A study, its sweep and population, its open datasets and its planned runs."""

    study: Study
    sweep: Sweep
    population: Population
    views: dict[str, DatasetView]
    planned: list[PlannedRun]


def prepare(sweep_file: Path, overrides: Sequence[str]) -> Prepared:
    """Begin the study of a sweep file, or go on with it."""
    sweep = Sweep.load(sweep_file, overrides)
    views = load_views(sweep)
    planned = plan(sweep, studies.sample(sweep.population), views)  # refuses before writing
    study, population = studies.create(sweep)
    return Prepared(study, sweep, population, views, planned)


def reopen(name: str) -> Prepared:
    """Open a study that was begun before."""
    study = Study.open(name)
    sweep, population = study.sweep(), study.population()
    views = load_views(sweep)
    return Prepared(study, sweep, population, views, plan(sweep, population, views))
