"""What an analysis is; and what it takes from a study, or why that is not there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from anynet_study import apr
from anynet_study.apr import Roles
from anynet_study.apr.options import Method
from anynet_study.apr.population import aligned_weights
from anynet_study.errors import UserError
from anynet_study.report.study import StudyTables

#: Tables by what tells them apart, each made when it is its turn.
Parts = dict[tuple[str, ...], Callable[[], pd.DataFrame]]

NO_ROLES = "no source dataset with targets is known"
NO_POPULATION = "the parameters of the architectures are not known"
NO_REPLICATES = "no architecture was trained more than once on any dataset"
NO_STORE_REPLICATES = "replicates are only in a results store"


@dataclass(frozen=True)
class Options:
    """How correlations and their intervals are computed."""

    method: Method = "spearman"
    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95
    #: Of a forest.
    trees: int = 100


@dataclass(frozen=True)
class AnalysisKind:
    """One table: `compute` raises UserError with the reason where a study does not allow it."""

    title: str
    compute: Callable[[StudyTables, Options], pd.DataFrame]
    #: Headings of columns that their names do not explain; "" for those that people are spared.
    headings: Mapping[str, str] = field(default_factory=dict)
    #: The table for people, where that has other rows or columns.
    arrange: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table


def how(tables: StudyTables, options: Options) -> dict[str, Any]:
    """The arguments that all correlations share; weighted where the population has weights."""
    return correlating(options) | {"weights": weights_in(tables)}


def correlating(options: Options) -> dict[str, Any]:
    """The arguments of correlations without weights."""
    return {"method": options.method, **intervals(options)}


def intervals(options: Options) -> dict[str, Any]:
    """The arguments of what is no correlation: resamples, seed and level."""
    return {"resamples": options.resamples, "seed": options.seed, "level": options.level}


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
    """The errors of all replicates; UserError where no architecture was trained twice."""
    if tables.replicates is None:
        raise UserError(NO_STORE_REPLICATES)
    if not tables.replicates.duplicated(["architecture", "dataset"]).any():
        raise UserError(NO_REPLICATES)
    return tables.replicates


def stacked(
    keys: Sequence[str], parts: Parts, report: Callable[[float], None] = lambda share: None
) -> pd.DataFrame:
    """One table of several, told apart by `keys`; a part that is refused is a row that says why.

    `report` is told which share of the parts is made.

    Raises UserError, with the first reason, where all are, and where there are no parts.
    """
    made, refused = [], []
    for values, make in parts.items():
        try:
            part = make()
        except UserError as error:
            refused.append(str(error))
            part = pd.DataFrame({"note": [str(error)]})
        named = pd.DataFrame(dict(zip(keys, values, strict=True)), index=part.index)
        made.append(pd.concat([named, part], axis="columns"))
        report(len(made) / len(parts))
    if len(refused) == len(made):
        raise UserError(refused[0] if refused else "there is nothing to compare")
    table = pd.concat([each for each in made if len(each)], ignore_index=True)
    return table.fillna({"note": ""}) if "note" in table else table
