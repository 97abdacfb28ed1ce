"""Architectures: how they were sampled, and what of them drives the errors."""

import pandas as pd

from anynet_study import apr, plots
from anynet_study.errors import UserError
from anynet_study.plots.style import SERIES
from anynet_study.report.analyses.kind import population_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import (
    MARKED,
    MOST_PANELS,
    FigureKind,
    check_room,
    drawable,
    errors_in,
)


def _driver(parameter: str) -> FigureKind:
    return FigureKind(
        f"Each architecture's {parameter} over its stages, against its test error on each "
        f"dataset. A positive ρ says that the error grows with it. "
        f"{MARKED.format(of='dataset')}",
        lambda a: plots.driver_grid(
            errors_in(a),
            population_in(a.tables),
            parameter,
            drawable(a, "drivers"),
            a.tables.metrics,
        ),
        lambda a: plots.driver_data(errors_in(a), population_in(a.tables), parameter),
        needs=("drivers",),
    )


def _given(analysis: Analysis) -> pd.DataFrame:
    table = drawable(analysis, "stages")
    if table["partial"].isna().all():
        raise UserError("all architectures have the same FLOPs and parameters, or unknown ones")
    return table


def _important(analysis: Analysis) -> pd.DataFrame:
    table = analysis["importance"]
    if table["importance"].isna().all():
        raise UserError("there are too few architectures for a forest")
    check_room(table["dataset"].nunique(), MOST_PANELS)
    return table


def _fitted(analysis: Analysis) -> pd.DataFrame:
    errors = analysis.tables.training_errors
    if errors is None:
        raise UserError(analysis.left_out["training-drivers"])
    check_room(errors.shape[1], MOST_PANELS)
    return errors


def _bins(analysis: Analysis) -> dict[str, pd.DataFrame]:
    table = analysis["bins"]
    known = table.dropna(subset="mean")
    check_room(known["dataset"].nunique(), len(SERIES), "datasets with lines of their own")
    return {str(name): rows for name, rows in known.groupby("dataset", sort=False)}


KINDS: dict[str, FigureKind] = {
    "depth": _driver("cumulative depth"),
    "width": _driver("cumulative width"),
    "stages": FigureKind(
        "Rank correlation of the errors with the parameters of every stage. Red: larger parameters "
        "err more. Numbers: p below 0.05, corrected for all of them. Frames: what helps on one "
        "dataset and hurts on another.",
        lambda a: plots.stage_driver_heatmap(drawable(a, "stages")),
        lambda a: a["stages"],
        needs=("stages",),
    ),
    "stages-given": FigureKind(
        "The same at equal FLOPs and parameters: partial rank correlations.",
        lambda a: plots.stage_driver_heatmap(_given(a), "partial"),
        lambda a: a["stages"],
        needs=("stages",),
    ),
    "importance": FigureKind(
        "How much worse a forest predicts the errors of architectures that it has not seen when "
        "one parameter is shuffled, as a share of their variance.",
        lambda a: plots.importance_grid(_important(a)),
        lambda a: a["importance"],
        needs=("importance",),
    ),
    "fitting": FigureKind(
        "Each architecture's cumulative depth against its error on the training images.",
        lambda a: plots.driver_grid(
            _fitted(a), population_in(a.tables), "cumulative depth", a["training-drivers"]
        ),
        lambda a: plots.driver_data(_fitted(a), population_in(a.tables), "cumulative depth"),
        needs=("training-drivers",),
    ),
    "bins": FigureKind(
        "Mean accuracy of the ten best among architectures of few, more and most parameters, with "
        "95% bootstrap intervals.",
        lambda a: plots.bin_chart(_bins(a), "parameters", "mean accuracy of the ten best (%)"),
        lambda a: a["bins"],
        needs=("bins",),
    ),
    "configurations": FigureKind(
        "Stage by stage, what the best architecture on each dataset looks like, and the mean and "
        "standard deviation of the 15 best (of a quarter of the architectures where that is "
        "fewer).",
        lambda a: plots.configuration_grid(errors_in(a), population_in(a.tables)),
        lambda a: apr.configurations(errors_in(a), population_in(a.tables)),
    ),
    "population": FigureKind(
        "The sampled architectures.",
        lambda a: plots.population_grid(population_in(a.tables)),
        lambda a: plots.population_data(population_in(a.tables)).reset_index(),
    ),
}
