"""All that is published of the study of classes, images and steps, from its release bundle alone.

    python analysis/classes-images-steps/publish.py

Figures (PNG and PDF), the report and the worths for each target are written beside this file, and
the tables of README.md are replaced, each after its title in italics.
"""

from pathlib import Path
from typing import Any

import contrasts
import numpy as np
import pandas as pd
from contrasts import CENTRE, DESIGN, FACTORS, LEFT_OUT, MEMBERS, PRIMARY, SMALLEST, Data, Worths
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import anynet_study
from anynet_study import plots
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.report import (
    markdown,
    merge_repeats,
    plain_grid,
    with_tables,
    write_report,
)
from anynet_study.analysis.study import Study

HERE = Path(__file__).parent
BUNDLE = HERE / "release" / "results.h5"
FREED, MEASURED, AT_EQUAL_DEPTH = "freed of noise", "as measured", "at equal depth"
#: How each way of correlating is drawn.
LOOKS: dict[str, dict[str, Any]] = {
    FREED: {"color": style.BLUE, "marker": "o"},
    MEASURED: {"color": style.GREY, "marker": "s", "markerfacecolor": "white"},
    AT_EQUAL_DEPTH: {"color": style.GREEN, "marker": "D", "markerfacecolor": "white"},
}
#: What figures show of differences and of worths; that of noisy members can be anything.
RANGE, MOST = (-0.85, 0.65), 1.1
WORTH = "worth: mean correlation\nwith six targets"


def data_of(study: Study) -> Data:
    """What the questions are asked of."""
    population = study.population.set_index("architecture")
    return contrasts.data_of(study.replicates, population[["d1", "d2", "d3", "d4"]].sum(axis=1))


def tables(study: Study) -> dict[str, str]:
    """The tables of README.md as Markdown, by title."""
    data = data_of(study)
    worths = contrasts.worths(data)
    return tables_of(data, worths, *shown(data, worths))


def shown(data: Data, worths: Worths) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """What figures and tables show: primary contrasts, members, and each contrast three ways."""
    asked = (contrasts.primary, contrasts.by_member, contrasts.side_by_side)
    primary, members, ways = (answer(data, worths) for answer in asked)
    return primary, members, ways


def tables_of(
    data: Data, worths: Worths, primary: pd.DataFrame, members: pd.DataFrame, ways: pd.DataFrame
) -> dict[str, str]:
    """The same, of errors and worths, and of what is `shown`."""
    primary = primary.copy()
    ends = zip(primary.pop("random_low"), primary.pop("random_high"), strict=True)
    primary.insert(5, "targets at random", [wording.interval(*both) for both in ends])
    found = {
        "Primary contrasts of worth; their intervals hold together at 95%": primary,
        "Two classes for targets of two classes": two_classes(worths, len(data.errors)),
        "Members, and their worth on average over the six targets": members,
        "Images and steps crossed": contrasts.images_and_steps(worths),
        "Each contrast three ways, each interval at 95%": ways,
        "Among the quarter of architectures that err least on the target": contrasts.best_quarter(
            data
        ),
        "Worth for each target": for_each_target(data),
        "Members that cannot be the best for a target, at 95%": best(worths),
    }
    headings = {
        "estimate": "difference of worth",
        "freed": FREED,
        "measured": MEASURED,
        "at_equal_depth": AT_EQUAL_DEPTH,
        "shared": "in the member's best quarter",
    }
    return {
        title: markdown(merge_repeats(plain_grid(table, headings)))
        for title, table in found.items()
    }


def two_classes(worths: Worths, n: int) -> pd.DataFrame:
    """The interaction that paper 1 predicts."""
    gain = "gained on targets of two classes, more than on the others"
    row = contrasts.interaction(worths)
    return pd.DataFrame([{"contrast": PRIMARY[0].label, "of": gain, **row, "n": n}])


def for_each_target(data: Data) -> pd.DataFrame:
    """Members by targets: estimates alone; `worths.csv` has their intervals."""
    table = contrasts.by_target(data).set_index(["member", "target"])["worth"].unstack()
    return table.loc[list(MEMBERS), [*contrasts.TARGETS, LEFT_OUT]].reset_index()


def best(worths: Worths) -> pd.DataFrame:
    """The confidence sets, by who is not in them."""
    rows = contrasts.best_members(worths).items()
    found = [
        (name, held[0], ", ".join(it for it in MEMBERS if it not in held)) for name, held in rows
    ]
    return pd.DataFrame(found, columns=["target", "estimated best", "cannot be the best"])


@style.styled
def contrast_figure(family: pd.DataFrame, ways: pd.DataFrame, n: int) -> Figure:
    """The seven contrasts, each in three ways, and the band of differences that do not matter."""
    drawn = style.one_panel(style.TWO_COLUMNS * 0.8, 3.4)
    axes, places = drawn.first, np.arange(len(family))
    axes.axvspan(-SMALLEST, SMALLEST, color="0.92", linewidth=0)
    axes.axvline(0, color="0.4", linewidth=0.6)
    together = f"{FREED}, all seven at 95%"
    style.draw_intervals(axes, family, "estimate", places - 0.22, label=together, **LOOKS[FREED])
    for name, column, away in (
        (MEASURED, "measured", 0.0),
        (AT_EQUAL_DEPTH, "at_equal_depth", 0.22),
    ):
        label = f"{name}, each at 95%"
        style.draw_intervals(axes, ways, column, places + away, label=label, **LOOKS[name])
    factors = family["factor"]
    for border in np.flatnonzero(factors.ne(factors.shift())[1:]) + 0.5:
        axes.axhline(border, color="0.85", linewidth=0.6)
    axes.set_yticks(places, family["contrast"])
    axes.tick_params(axis="y", length=0)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center"}
    for place, said in enumerate(family["matters"]):
        axes.text(1.01, place, f"matters: {said}", fontsize=6.5, **beside)
    axes.set(ylim=(len(family) - 0.5, -0.5), xlim=RANGE)
    for place, end in enumerate(family["high"]):
        if end > RANGE[1]:
            axes.text(RANGE[1], place, f"to {end:.2f} →", ha="right", va="center", fontsize=6)
    axes.set_xlabel(f"difference of worth (n = {n} architectures, six targets)")
    drawn.legend(*axes.get_legend_handles_labels())
    return drawn.figure


@style.styled
def worth_figure(members: pd.DataFrame) -> Figure:
    """What members are worth against classes, images and steps, each with the centre."""
    table = members.set_index("member")
    drawn = style.panels(3, 2.3, sharey=True)
    for axes, factor in zip(drawn.axes, FACTORS, strict=True):
        whole = table.loc["cifar10", "worth"]
        axes.axhline(whole, color=style.ORANGE, ls="--", label="all of CIFAR-10, 4,686 steps")
        names = [CENTRE, *(name for it in PRIMARY if it.factor == factor for name in it.members)]
        _draw_worths(axes, table.loc[sorted(names, key=lambda name: (DESIGN[name], name))], factor)
    drawn.label_left(WORTH)
    drawn.legend(*drawn.first.get_legend_handles_labels())
    return drawn.figure


def _draw_worths(axes: Axes, rows: pd.DataFrame, factor: str) -> None:
    places = np.arange(len(rows))
    for column, name, away in (("worth", FREED, -0.1), ("measured", MEASURED, 0.1)):
        look = LOOKS[name]
        style.draw_intervals(axes, rows, column, places + away, across=False, label=name, **look)
    axes.set_xticks(places, [f"{value:,}" for value in rows[factor]])
    axes.set(xlim=(-0.6, len(rows) - 0.4), ylim=(0, MOST), xlabel=factor)
    for place, end in enumerate(rows["worth_high"]):
        if end > MOST:
            axes.text(place, MOST, f"to {end:.2f} ↑", ha="left", va="top", fontsize=6)


def main() -> None:
    """Write the figures, the report and the tables."""
    study = anynet_study.load(BUNDLE)
    data = data_of(study)
    worths = contrasts.worths(data)
    primary, members, ways = shown(data, worths)
    plots.save(contrast_figure(primary, ways, len(data.errors)), HERE / "figures" / "contrasts")
    plots.save(worth_figure(members), HERE / "figures" / "worths")
    write_report(study, HERE / "report")
    contrasts.by_target(data).to_csv(HERE / "worths.csv", index=False, float_format="%.4f")
    page = HERE / "README.md"
    page.write_text(with_tables(page.read_text(), tables_of(data, worths, primary, members, ways)))


if __name__ == "__main__":
    main()
