"""Describe the sampled architectures, and the best of them (paper 1, Figure A7; paper 5)."""

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, drawable_errors, stacked
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.plots import wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Most stages that are columns of a table.
MOST_ACROSS = 4


def configurations(study: Study) -> pd.DataFrame:
    """Return what the best look like."""
    return apr.configurations(study.staged(study.errors), study.population)


def arrange_configurations(table: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset and parameter, one column per stage; the other way for many stages.

    The other way also where the best differ in their number of stages: n is then that of a stage.
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


CONFIGURATIONS = Analysis[Study](
    name="configurations",
    title="Configurations of the 15 best (a quarter at most): mean±std (the best one)",
    table=configurations,
    question="What do the best architectures look like?",
    formula="mean ± standard deviation of each stage parameter over the 15 best (a quarter of all "
    "at most)",
    source="paper 1, section 6.2.2 and Figure A7",
    avoid=("as evidence that a parameter matters: the best of a sample share what the sample has"),
    needs=("population", "equal_weights"),
    arrange=arrange_configurations,
    figures=(
        StudyFigure(
            name="configurations",
            title="The best configurations",
            caption="Stage by stage, what the best architecture on each dataset looks like, and "
            "the mean and standard deviation of the 15 best (of a quarter of the architectures "
            "where that is fewer).",
            draw=lambda study, _: plots.configuration_grid(
                drawable_errors(study.staged(study.errors)), study.population
            ),
            data=lambda study: apr.configurations(
                drawable_errors(study.staged(study.errors)), study.population
            ),
            expected=True,
        ),
    ),
    section="drivers",
)


def bins(study: Study) -> pd.DataFrame:
    """The mean accuracy of the ten best among architectures of few, more and many parameters."""
    population = study.architectures.set_index("architecture")
    if "parameters" not in population or population["parameters"].nunique() < 2:
        raise DoesNotApplyError(
            "the architectures' numbers of parameters are not known, or all the same"
        )
    errors = apr.check_errors(study.errors, 0)
    parts: Parts = {
        (str(name),): partial(
            apr.best_of_bins,
            100 - errors[name].dropna(),
            population["parameters"],
            **study.options.intervals,
        )
        for name in errors
    }
    return stacked(["dataset"], parts, study.progress)


def drawn_bins(study: Study) -> pd.DataFrame:
    """Return the rows of `bins` whose mean is known."""
    return study.table("bins").dropna(subset="mean")


def draw_bins(study: Study, table: pd.DataFrame) -> "Figure":
    """A line for each dataset."""
    lines = {str(name): rows for name, rows in table.groupby("dataset", sort=False)}
    return plots.bin_chart(lines, "parameters", "accuracy (%)")


BINS = Analysis[Study](
    name="bins",
    title="Mean accuracy of the ten best with few, more and most parameters",
    table=bins,
    question="How good are the best architectures of each size?",
    formula="mean accuracy of the ten best in each third of the architectures by parameters",
    source="paper 5, section 5.2",
    avoid=(
        "with 30 architectures or fewer: a third has then no more than ten, of which none is left "
        "out"
    ),
    needs=("architectures", "equal_weights"),
    headings={"architectures": "n", "from": "", "to": "", "mean": "mean of the best"},
    figures=(
        StudyFigure(
            name="bins",
            title="The best by number of parameters",
            caption="Mean accuracy of the ten best among architectures of few, more and most "
            "parameters, with {level} bootstrap intervals.",
            draw=draw_bins,
            data=drawn_bins,
        ),
    ),
    section="drivers",
    shown="folded",
    caption="The best by number of parameters",
)


POPULATION = Analysis[Study](
    name="population",
    title="The population",
    table=None,
    question="What was sampled?",
    formula="the distributions of FLOPs, parameters, activations, and sums of depths and widths",
    source="paper 1, section 4.1",
    avoid="to judge the sampling of a design space by its accepted architectures alone",
    needs=("architectures",),
    figures=(
        StudyFigure(
            name="population",
            title="Distributions",
            caption="The sampled architectures.",
            draw=lambda study, _: plots.population_grid(study.architectures),
            data=lambda study: plots.population_data(study.architectures).reset_index(),
            expected=True,
        ),
    ),
    section="population",
)
