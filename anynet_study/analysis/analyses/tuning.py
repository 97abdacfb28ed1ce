"""Tell what was tuned, what it cost, and whether it changes the ranking of the architectures."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analyses.training import (
    CHANGE,
    TwoRecipes,
    Versions,
    changed,
    of_datasets,
    worlds_of,
)
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.claims import Claim, Fact, Said
from anynet_study.analysis.study import Inputs, Study
from anynet_study.analysis.worlds import Draw, Setting, settings
from anynet_study.core.errors import DoesNotApplyError, listed
from anynet_study.core.progress import duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Columns of trials that are not keys of recipes.
KNOWN = {"run_id", "architecture", "dataset", "tuned", "replicate", "trial", "rung"}
KNOWN |= {"epochs", "status", "validation_error", "error", "seconds", "trains", "chosen"}


def tuning(study: Study) -> pd.DataFrame:
    """Tell for each tuned recipe and dataset what was tried, what it took, and which settings won.

    Returns DataFrame[recipe, dataset, trials, rungs, runs, epochs, hours, architectures, untrained,
    settings]: `epochs` and `hours` over all trials of all architectures; `architectures` with a
    choice, `untrained`, those that train at none of the settings; `settings`, of the chosen trials
    the median and the range of numbers, and how often texts were chosen.
    """
    rows = []
    trials = study.trials[study.trials["replicate"] == 0]
    for (recipe, dataset), mine in trials.groupby(["tuned", "dataset"], sort=False):
        chosen = mine[mine["chosen"]]
        per_rung = mine.groupby(["rung", "architecture"]).size().groupby("rung").max()
        rows.append(
            {
                "recipe": recipe,
                "dataset": dataset,
                "trials": mine["trial"].nunique(),
                "rungs": " + ".join(map(str, per_rung)),
                "runs": len(mine),
                "epochs": int(mine["epochs"].sum()),
                "hours": mine["seconds"].sum() / 3600,
                "architectures": len(chosen),
                "untrained": int((~mine.groupby("architecture")["trains"].any()).sum()),
                "settings": ", ".join(_chosen(chosen)),
            }
        )
    return pd.DataFrame(rows)


def _chosen(chosen: pd.DataFrame) -> Iterator[str]:
    """Yield what was chosen of each key."""
    for key in (name for name in chosen.columns if name not in KNOWN):
        values = chosen[key].dropna()
        if values.empty:
            continue
        if pd.api.types.is_numeric_dtype(values):
            yield f"{key} {values.median():.3g} ({values.min():.3g} to {values.max():.3g})"
        else:
            counts = values[values != ""].value_counts()
            yield " or ".join(f"{key} {value} ({count})" for value, count in counts.items())


def budget_spent(table: pd.DataFrame) -> Said:
    """The budget, which is the same for all, and who does not train."""
    said: list[Claim | Fact] = []
    for recipe, rows in table.groupby("recipe", sort=False):
        told: dict[str, str | int] = {
            "recipe": str(recipe),
            "rungs": " or ".join(dict.fromkeys(rows["rungs"])),
            "runs": int(rows["runs"].sum()),
            "epochs": int(rows["epochs"].sum()),
            "time": duration(3600 * float(rows["hours"].sum())),
        }
        said.append(
            Fact(
                "The recipe {recipe} was tuned for each architecture on each dataset with the same "
                "{rungs} runs, compared on validation images: {runs} runs, {epochs} epochs and "
                "{time} in all.",
                told,
            )
        )
        if stuck := [f"{n} on {name}" for name, n in rows[["dataset", "untrained"]].values if n]:
            text = "Under {recipe}, these architectures train at none of the settings: {where}."
            said.append(Fact(text, {"recipe": str(recipe), "where": listed(stuck)}))
    return said


TUNING = Analysis[Study](
    name="tuning",
    title="What was tuned: the budget spent and the settings chosen",
    table=tuning,
    question="What did tuning try, what did it cost, and what did it choose?",
    formula="the setting with the lowest validation error among the trials of each architecture",
    avoid="as a search for the best recipe: only the sweep's settings and budget were tried",
    needs=("trials",),
    headings={"rungs": "runs an architecture", "untrained": "trained at no setting"}
    | {"settings": "settings chosen: median (range), or how often"},
    say=lambda study, table: budget_spent(table),
    topic="Training",
    section="training",
    shown="open",
    note=(
        "Every architecture has the same space of settings and the same budget. The setting with "
        "the lowest error on validation images is chosen; test images are not used for this."
    ),
)


def versions(study: Study, recipe: str) -> Versions:
    """Errors under the best common setting of each dataset, and under each architecture's own.

    Raises UserError for a recipe tuned by halving, in which trials are of several lengths.
    """
    trials = study.trials[(study.trials["tuned"] == recipe) & (study.trials["replicate"] == 0)]
    if (trials["rung"] > 0).any():
        raise DoesNotApplyError(f"{recipe} was tuned by halving: no setting was trained with all")
    counted = trials.assign(seen=trials["validation_error"].where(trials["error"].notna(), 100.0))
    counted["seen"] = counted["seen"].fillna(100.0)
    means = counted.groupby(["dataset", "trial"])["seen"].mean()
    best = set(means.groupby("dataset").idxmin())
    is_best = [pair in best for pair in zip(trials["dataset"], trials["trial"], strict=True)]
    tables = [
        rows.pivot_table(index="architecture", columns="dataset", values="error", sort=False)
        for rows in (trials[is_best], trials[trials["chosen"]])
    ]
    return tables[0], tables[1], ("one setting for all", "tuned each")


def tuned(study: Study) -> pd.DataFrame:
    """Errors tuned for each architecture against those under one setting for all (`agreement`).

    That setting is the one with the lowest mean validation error on the dataset.
    """
    parts: Parts = {
        (recipe,): partial(_tuned, study, recipe) for recipe in dict.fromkeys(study.trials["tuned"])
    }
    return stacked(["recipe"], parts, study.progress)


def _tuned(study: Study, recipe: str) -> pd.DataFrame:
    before, after, _ = versions(study, recipe)
    return apr.agreement(before, after, **study.options.correlating)


def of_trials(errors: TwoRecipes) -> Callable[[Draw, Setting], Inputs]:
    """Two settings were tried: the best common one, and the one chosen for each architecture."""

    def draw_inputs(draw: Draw, setting: Setting) -> Inputs:
        drawn = of_datasets(errors)(draw, setting)
        parts = []
        for trial, table in enumerate((drawn.errors, drawn.recipes["other"])):
            part = table.rename_axis("architecture").melt(
                ignore_index=False, var_name="dataset", value_name="error"
            )
            parts.append(part.reset_index().assign(trial=trial, validation_error=50.0 + trial))
        both = pd.concat(parts, ignore_index=True)
        chosen = both["trial"].eq(1)
        told = {"tuned": "tuned", "replicate": 0, "rung": 0, "trains": True, "chosen": chosen}
        return replace(drawn, recipes={}, trials=both.assign(**told))

    return draw_inputs


FEW = settings(n=(100, 12, 30), targets=(2, 7), shape=("normal", "skewed", "diverged"))


def of_first_recipe(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first recipe."""
    return table[table["recipe"] == table["recipe"].iloc[0]]


def drawn_tuned(study: Study) -> pd.DataFrame:
    """The errors under both."""
    rows = of_first_recipe(study.table("tuned"))
    before, after, _ = versions(study, rows["recipe"].iloc[0])
    return plots.agreement_data(before, after, list(rows["dataset"]))


def draw_tuned(study: Study, _: pd.DataFrame) -> "Figure":
    """A panel for each dataset."""
    rows = of_first_recipe(study.table("tuned"))
    before, after, labels = versions(study, rows["recipe"].iloc[0])
    return plots.agreement_grid(before, after, rows, labels)


TUNED = Analysis[Study](
    name="tuned",
    title="Tuned for each architecture against one setting for all",
    table=tuned,
    question="Does tuning each architecture change their ranking?",
    formula="ρ(errors with one setting for all, tuned errors), and their mean difference; the one "
    "setting is that with the lowest mean validation error",
    avoid="as the gain over an untuned recipe: the one setting is the best of the same trials",
    needs=("trials", "equal_weights"),
    headings=CHANGE,
    figures=(
        StudyFigure(
            name="tuned",
            title="Errors tuned for each architecture",
            caption="Errors with the setting chosen for each architecture against those with the "
            "one setting that errs least on average on validation images.",
            draw=draw_tuned,
            data=drawn_tuned,
            panels="dataset",
        ),
    ),
    say=lambda study, table: changed(table, "recipe"),
    says=worlds_of(of_trials, FEW),
    topic="Training",
    section="training",
    shown="folded",
    caption="Tuned errors",
)
