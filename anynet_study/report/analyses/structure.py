"""What of an architecture drives its errors (paper 1, sections 4.4 and 6.2.2)."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.plots import wording
from anynet_study.report.analyses.kind import (
    AnalysisKind,
    Options,
    Parts,
    how,
    intervals,
    population_in,
    stacked,
)
from anynet_study.report.study import StudyTables

#: Most stages that are columns of a table.
MOST_ACROSS = 4


def drivers(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Cumulative depth and width."""
    return apr.drivers(tables.errors, population_in(tables), **how(tables, options))


def stages(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Every parameter of every stage, raw and given what all of them cost."""
    return apr.stage_drivers(tables.errors, population_in(tables), **how(tables, options))


def importance(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Which parameters a forest needs to tell the errors."""
    return apr.importance(
        tables.errors,
        population_in(tables),
        trees=options.trees,
        seed=options.seed,
        level=options.level,
    )


def bins(tables: StudyTables, options: Options) -> pd.DataFrame:
    """The mean accuracy of the ten best among architectures of few, more and many parameters."""
    population = population_in(tables).set_index("architecture")
    if "parameters" not in population or population["parameters"].nunique() < 2:
        raise UserError("the architectures' numbers of parameters are not known, or all the same")
    errors = apr.check_errors(tables.errors, 0)
    parts: Parts = {
        (str(name),): partial(
            apr.best_of_bins,
            100 - errors[name].dropna(),
            population["parameters"],
            **intervals(options),
        )
        for name in errors
    }
    return stacked(["dataset"], parts, tables.workings.report)


def configurations(tables: StudyTables, options: Options) -> pd.DataFrame:
    """What the best look like."""
    return apr.configurations(tables.errors, population_in(tables))


def arrange_configurations(table: pd.DataFrame) -> pd.DataFrame:
    """One row a dataset and parameter, one column a stage; the other way round for many stages.

    Also where the best differ in their number of stages: n is then that of the stage.
    """
    same = not (table.groupby("dataset")["n"].nunique() > 1).any()
    down, across = "parameter", "stage"
    if len(table["stage"].unique()) > MOST_ACROSS or not same:
        down, across = across, down
    rows = []
    for (dataset, name), part in table.groupby(["dataset", down], sort=False):
        row = {"dataset": str(dataset), down: str(name)}
        for cell in part.to_dict("records"):
            head = f"stage {cell['stage']}" if across == "stage" else cell["parameter"]
            row[head] = _spread(cell)
        rows.append({**row, "n": part["n"].iloc[0]})
    return pd.DataFrame(rows)


def _spread(cell: Mapping[Any, Any]) -> str:
    """`12.5±3.1 (8)`: mean, standard deviation and the best architecture's."""
    if not cell["n"]:
        return "–"
    digits = 0 if cell["parameter"] == "width" else 1
    best = f"{cell['best']:g}" if math.isfinite(cell["best"]) else "–"
    return f"{wording.number(cell['mean'], digits)}±{wording.number(cell['std'], digits)} ({best})"


KINDS = {
    "drivers": AnalysisKind(
        "Correlation of the errors with the architecture (positive: more is worse)",
        drivers,
        {"estimate": "correlation"},
    ),
    "stages": AnalysisKind(
        "Correlation of the errors with every parameter, and given FLOPs and parameters",
        stages,
        {"estimate": "correlation", "p": "", "partial": "given the others", "given": ""}
        | {"p_holm": "p (Holm)", "partial_p": "", "partial_p_holm": "p (Holm), given"}
        | {"flips": "flips sign", "partial_flips": "flips, given"},
    ),
    "importance": AnalysisKind(
        "Importance of every parameter to a forest that predicts the errors (share of variance)",
        importance,
        {"r2": "R² of the forest", "r2_oob": "out of bag"},
    ),
    "configurations": AnalysisKind(
        "Configurations of the 15 best (a quarter at most): mean±std (the best one)",
        configurations,
        arrange=arrange_configurations,
    ),
    "bins": AnalysisKind(
        "Mean accuracy of the ten best among few, more and most parameters",
        bins,
        {"architectures": "n", "from": "", "to": "", "mean": "mean of the best"},
    ),
}
