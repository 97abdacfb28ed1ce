"""All statistics of a study in one go; what cannot be had is left out with a reason."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import pandas as pd

from anynet_study import apr
from anynet_study.apr import Roles
from anynet_study.apr.weights import aligned_weights
from anynet_study.errors import UserError
from anynet_study.report.study import StudyTables

NO_ROLES = "no source dataset with targets is known"
NO_POPULATION = "the parameters of the architectures are not known"
NO_REPLICATES = "no architecture was trained more than once on any dataset"

ANALYSES = ("correlations", "match", "proxies", "drivers", "ceiling")


@dataclass(frozen=True)
class Analysis:
    """Tables of `anynet_study.apr` for one study; None if not wanted, or `left_out` says why."""

    tables: StudyTables
    correlations: pd.DataFrame | None
    match: pd.DataFrame | None
    proxies: pd.DataFrame | None
    drivers: pd.DataFrame | None
    ceiling: pd.DataFrame | None
    #: Name of the analysis -> why it is not there.
    left_out: dict[str, str]


def analyse(
    tables: StudyTables,
    resamples: int = 10_000,
    seed: int = 0,
    wanted: Collection[str] = ANALYSES,
) -> Analysis:
    """Compute what is wanted and the tables allow, with `resamples` bootstrap resamples.

    Correlations are weighted where the population has weights.
    """
    errors = tables.errors
    how: dict[str, Any] = {"resamples": resamples, "seed": seed, "weights": weights_in(tables)}
    left_out: dict[str, str] = {}

    def attempt(name: str, compute: Callable[[], pd.DataFrame]) -> pd.DataFrame | None:
        try:
            return compute() if name in wanted else None
        except UserError as error:
            left_out[name] = str(error)
        return None

    return Analysis(
        tables,
        correlations=attempt("correlations", lambda: apr.correlations(errors, **how)),
        match=attempt("match", lambda: apr.match_family(errors, roles_in(tables), **how)),
        proxies=attempt("proxies", lambda: apr.best_proxies(errors, roles_in(tables), **how)),
        drivers=attempt("drivers", lambda: apr.drivers(errors, population_in(tables), **how)),
        ceiling=attempt("ceiling", lambda: _ceiling(tables)),
        left_out=left_out,
    )


def roles_in(tables: StudyTables) -> Roles:
    """The roles of the datasets; UserError where they are not known."""
    if tables.roles is None:
        raise UserError(NO_ROLES)
    return tables.roles


def population_in(tables: StudyTables) -> pd.DataFrame:
    """The parameters of the architectures' stages; UserError where they are not known."""
    if tables.population is None or tables.population.empty or "d1" not in tables.population:
        raise UserError(NO_POPULATION)
    return tables.population


def weights_in(tables: StudyTables) -> pd.Series | None:
    """Weights by architecture; None where all were drawn with equal probability."""
    return None if tables.population is None else apr.weights_of(tables.population)


def effective_in(tables: StudyTables) -> float | None:
    """Kish's effective number of architectures; None where they have no (legal) weights."""
    try:
        weights = aligned_weights(weights_in(tables), tables.errors)
    except UserError:  # the analyses that it keeps from being made say so
        return None
    return None if weights is None else apr.effective_size(weights)


def replicates_in(tables: StudyTables) -> pd.DataFrame:
    """The errors of all replicates; UserError where there are none."""
    if tables.replicates is None or tables.replicates.empty:
        raise UserError(NO_REPLICATES)
    return tables.replicates


def _ceiling(tables: StudyTables) -> pd.DataFrame:
    table = apr.noise_ceiling(replicates_in(tables))
    if table.empty:
        raise UserError(NO_REPLICATES)
    return table
