"""Paper 5, section 5.1: average robustness after every so many epochs, and the best of these.

    python analysis/checkpoints.py studies/data-budget -o figures

Of evaluations with `every` that are shifts, or that --evaluations names: a network's accuracy
averaged over them, at each epoch. The best is chosen by the test sets themselves, as in the paper,
which makes it too good by a little: the last epoch stands beside it.
"""

import pandas as pd

from anynet_study import plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script, show
from anynet_study.analysis.study import SHIFT, Study
from anynet_study.core.errors import UserError

RUN = ["dataset", "architecture"]


def averages(study: Study) -> pd.DataFrame:
    """Columns dataset, architecture, epoch and error: the mean over evaluations, percent."""
    if study.store is None:
        raise UserError(f"{study.name}: a study or a results store is needed, this is a table")
    keys = ["run_id", *RUN, "recipe", "replicate"]
    found = study.store.evaluations([*keys, "evaluation", "epoch", "error"])
    standing = study.store.stands(found, study.options.recipe)
    found = found[standing & (found["replicate"] == 0)]
    found["name"] = found["evaluation"].str.split("@").str[0]
    repeated = set(found.loc[found["epoch"].notna(), "name"]) & counted_tests(study)
    if not repeated:
        raise UserError(f"{study.name}: no test of a shift was made every so many epochs")
    last = study.store.curves(metrics=("test_error",)).groupby("run_id")["epoch"].max()
    found["epoch"] = found["epoch"].fillna(found["run_id"].map(last)).astype(int)
    found = found[found["name"].isin(repeated)]
    return found.groupby([*RUN, "epoch"], sort=False, as_index=False)["error"].mean()


def counted_tests(study: Study) -> set[str]:
    """The names of the evaluations that count."""
    told = study.options.evaluations
    kinds = (kinds.items() for kinds in study.kinds.values())
    names = {name.partition("@")[0] for of in kinds for name, kind in of if told or kind == SHIFT}
    return names & set(told) if told else names


def checkpoints(study: Study, output: Output = FOLDER) -> None:
    """Draw checkpoints.png and checkpoints.pdf, and print the best epoch of each network."""
    table = averages(study).sort_values("epoch", kind="stable")
    figure = plots.curve_grid(table, what="mean error on tests")
    save(figure, output / "checkpoints", table)
    runs = table.groupby(RUN, sort=False)
    best = table.loc[runs["error"].idxmin()].set_index(RUN)
    last = runs.last()
    shown = pd.DataFrame(
        {
            "best epoch": best["epoch"],
            "robustness": 100 - best["error"],
            "last epoch": last["epoch"],
            "then": 100 - last["error"],
        }
    )
    show("Average robustness, accuracy in percent", shown.reset_index())
    means = shown.groupby("dataset", sort=False)[["robustness", "then"]].mean()
    show("Mean over networks", means.reset_index())


if __name__ == "__main__":
    script(checkpoints)
