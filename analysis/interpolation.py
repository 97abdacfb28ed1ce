"""Paper 5, appendix: accuracy of networks between the start and the end of fine-tuning (WiSE-FT).

    python analysis/interpolation.py studies/wise-ft --recipe tuned -o figures

Of evaluations with `interpolate`: a panel each, the error by the share of the way from the weights
that runs started from (0) to their final ones (1); on the terminal the best share of each network.
"""

import pandas as pd
from matplotlib.ticker import MaxNLocator

from anynet_study import plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, save, script, show
from anynet_study.errors import UserError
from anynet_study.study import Study


def interpolation(study: Study, output: Output = FOLDER) -> None:
    """Draw interpolation.png and interpolation.pdf, and print the best shares."""
    if study.store is None:
        raise UserError(f"{study.name}: a study or a results store is needed, this is a table")
    recipe = study.options.recipe
    columns = ["dataset", "architecture", "recipe", "replicate", "evaluation"]
    found = study.store.evaluations([*columns, "interpolate", "error"])
    found = found[found["interpolate"].notna() & (found["replicate"] == 0)]
    recipes = list(dict.fromkeys(found["recipe"]))
    if recipe is None and len(recipes) == 1:
        (recipe,) = recipes
    if recipe not in recipes:
        raise UserError(
            f"{study.name}: say by --recipe whose runs are meant; interpolated were those of: "
            f"{', '.join(recipes) or 'none'}"
        )
    found = found[found["recipe"] == recipe]
    names = found["evaluation"].str.partition("@")[0]
    table = pd.DataFrame(
        {
            "dataset": found["dataset"] + ", " + names,
            "architecture": found["architecture"],
            "epoch": found["interpolate"],
            "error": found["error"],
        }
    ).sort_values("epoch", kind="stable")
    figure = plots.curve_grid(table)
    for axes in figure.axes:
        axes.set_xlabel("share of the way to the final weights")
        axes.xaxis.set_major_locator(MaxNLocator(5))
    table = table.rename(columns={"dataset": "evaluation", "epoch": "share"})
    save(figure, output / "interpolation", table)
    runs = table.groupby(["evaluation", "architecture"], sort=False)
    best = table.loc[runs["error"].idxmin()]
    show("Share with the lowest error, percent", best)
    means = table.groupby(["evaluation", "share"], sort=False, as_index=False)["error"].mean()
    show("Mean error over networks, percent", means)


if __name__ == "__main__":
    script(interpolation)
