"""Paper 1, Figure A5: does balancing the classes change the ranking of the architectures?

    python analysis/figure_a5.py studies/paper --pairs MLC2008=MLC2008-balanced -o figures

The errors on each balanced dataset against those on the original, with their agreement
(figure_a5.csv). Any two versions of a dataset can be compared like this. Of a study also how many
images are of each class (figure_a5-classes).
"""

from typing import Annotated

import pandas as pd
import typer
from matplotlib.figure import Figure
from pydantic import ValidationError

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, check_datasets, save, script
from anynet_study.analysis.plots import style, wording
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError
from anynet_study.data import KeptDatasets, load_dataset, view_rows
from anynet_study.engine.planning.settings import make_views
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.sweep.text import describe, parse_yaml

#: Classes that have their names under an axis.
MOST_NAMED = 30


def figure_a5(
    study: Study,
    pairs: Annotated[str, typer.Option(help="ORIGINAL=BALANCED,...")],
    output: Output = FOLDER,
) -> None:
    """Draw figure_a5.png and figure_a5.pdf."""
    names = dict(pair.partition("=")[::2] for pair in pairs.split(","))
    check_datasets(study, [*names, *names.values()])
    before = study.errors[[*names]]
    after = study.errors[[*names.values()]].set_axis([*names], axis=1)
    table = apr.agreement(before, after, **study.options.correlating)
    figure = plots.agreement_grid(before, after, table, ("original", "balanced"))
    save(figure, output / "figure_a5", table)
    if study.store is not None:
        try:
            counts = images_of_classes(study, [*names, *names.values()])
        except UserError as error:
            print(f"no figure_a5-classes: {error}")
            return
        save(draw_classes(counts, names), output / "figure_a5-classes", counts)


def images_of_classes(study: Study, names: list[str]) -> pd.DataFrame:
    """Columns dataset, class, train, test, images: counts of what the study keeps of its datasets.

    Raises UserError where the study has no sweep that can be read, or a dataset is neither kept nor
    packed.
    """
    assert study.store is not None
    if not (said := study.store.provenance.get("sweep", "")):
        raise UserError(f"{study.name}: what its datasets are made of is not known: no sweep")
    content = parse_yaml(said)
    try:
        sweep = Sweep.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{study.name}: its sweep: {describe(error, Sweep, content)}") from None
    bases = {base for name in names for base in sweep.datasets[name].bases}
    kept = KeptDatasets(study.store.path.parent / "datasets")
    views = make_views(sweep, {base: load_dataset(base, kept=kept) for base in bases})
    rows = [
        (name, c, train, test) for name in names for c, _, train, test in view_rows(views[name])
    ]
    table = pd.DataFrame(rows, columns=["dataset", "class", "train", "test"])
    return table.assign(images=table["train"] + table["test"])


@style.styled
def draw_classes(counts: pd.DataFrame, pairs: dict[str, str]) -> Figure:
    """A panel for each pair: bars of both versions by class, the largest first."""
    drawn = style.panels(len(pairs), 2.4)
    looks = {"original": (-0.2, style.BLUE), "balanced": (0.2, style.ORANGE)}
    for panel, (original, balanced) in zip(drawn.axes, pairs.items(), strict=True):
        tables = [counts[counts["dataset"] == name] for name in (original, balanced)]
        order = tables[0].sort_values("images", ascending=False, kind="stable")["class"]
        for table, (label, (shift, colour)) in zip(tables, looks.items(), strict=True):
            images = table.set_index("class")["images"].reindex(order).fillna(0)
            places = [number + shift for number in range(len(order))]
            panel.bar(places, images, width=0.4, color=colour, label=label)
        named = len(order) <= MOST_NAMED
        labels = [wording.shorten(name, 16) for name in order] if named else []
        panel.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=6)
        panel.set_xlabel("" if named else f"{len(order)} classes, the largest first")
        panel.set_title(wording.shorten(original, 30))
    drawn.label_left("images of training and test")
    drawn.legend(*drawn.first.get_legend_handles_labels())
    return drawn.figure


if __name__ == "__main__":
    script(figure_a5)
