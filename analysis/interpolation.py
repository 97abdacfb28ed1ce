"""Paper 5, appendix: accuracy of networks between the start and the end of fine-tuning (WiSE-FT).

    python analysis/interpolation.py studies/wise-ft --recipe tuned -o figures

Of evaluations with `interpolate` that are of the run's own test images or shifts, or that
--evaluations names: a panel each, the error by the share of the way from the weights that runs
started from (0) to their final ones (1); on the terminal the best share of each network. Where
there are both, also the mean error on the shifts against that on the own images, from share to
share (interpolation-shifted).
"""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from anynet_study import plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script, show
from anynet_study.analysis.plots import style
from anynet_study.analysis.study import SHIFT, Study
from anynet_study.core.errors import UserError


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
    pairs = zip(found["dataset"], found["evaluation"], strict=True)
    found = found.assign(kind=[study.kind_of(*pair) for pair in pairs])
    told = study.options.evaluations
    kept = names.isin(told) if told else found["kind"].isin(["own images", SHIFT])
    found, names = found[kept], names[kept]
    if found.empty:
        raise UserError(f"{study.name}: none is of own images or a shift; --evaluations NAME,...")
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
        axes.set_xlabel("share of the final weights")
        axes.xaxis.set_major_locator(MaxNLocator(5))
    table = table.rename(columns={"dataset": "evaluation", "epoch": "share"})
    save(figure, output / "interpolation", table)
    if (line := own_and_shifted(found)) is not None:
        save(draw_line(line), output / "interpolation-shifted", line)
    runs = table.groupby(["evaluation", "architecture"], sort=False)
    best = table.loc[runs["error"].idxmin()]
    show("Share with the lowest error, percent", best)
    means = table.groupby(["evaluation", "share"], sort=False, as_index=False)["error"].mean()
    show("Mean error over networks, percent", means)


def own_and_shifted(found: pd.DataFrame) -> pd.DataFrame | None:
    """Columns dataset, share, own, shifted: errors (%), means over networks and test sets.

    None without tests of the own images, or without shifts.
    """
    keys = ["dataset", "interpolate", "kind"]
    wide = found.groupby(keys, sort=False)["error"].mean().unstack()
    if not {"own images", SHIFT} <= set(wide) or (wide := wide.dropna()).empty:
        return None
    names = {"own images": "own", SHIFT: "shifted", "interpolate": "share"}
    return wide.reset_index().rename(columns=names).rename_axis(columns=None)


@style.styled
def draw_line(line: pd.DataFrame) -> Figure:
    """A line for each dataset, its points in the order of their shares."""
    drawn = style.one_panel(style.ONE_COLUMN, 2.6)
    looks = style.series_looks(dict.fromkeys(line["dataset"]), "datasets")
    for name, look in looks.items():
        rows = line[line["dataset"] == name].sort_values("share", kind="stable")
        drawn.first.plot(rows["own"], rows["shifted"], label=name, markersize=4, **look)
    ends = line[line["share"] == line["share"].max()]
    label = f"share {line['share'].max():g}"
    ring: dict[str, Any] = {
        "linestyle": "none",
        "marker": "o",
        "markersize": 7,
        "markerfacecolor": "none",
    }
    drawn.first.plot(ends["own"], ends["shifted"], color=style.GREY, label=label, **ring)
    drawn.first.set(xlabel="error on own test images (%)", ylabel="mean error on shifts (%)")
    drawn.first.margins(0.12)
    drawn.legend(*drawn.first.get_legend_handles_labels())
    return drawn.figure


if __name__ == "__main__":
    script(interpolation)
