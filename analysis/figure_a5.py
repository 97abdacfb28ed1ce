"""Paper 1, Figure A5: does balancing the classes change the ranking of the architectures?

    python analysis/figure_a5.py studies/paper --pairs MLC2008=MLC2008-balanced -o figures

The errors on each balanced dataset against those on the original, with their agreement
(figure_a5.csv). Any two versions of a dataset can be compared like this. Of a store also how many
of the test images are of each class (figure_a5-classes).
"""

import json
from typing import Annotated

import pandas as pd
import seaborn
import typer
from matplotlib.figure import Figure

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, check_datasets, save, script
from anynet_study.errors import UserError
from anynet_study.study import Study


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
        counts = pd.concat([images_of_classes(study, name) for name in [*names, *names.values()]])
        save(draw_classes(counts, names), output / "figure_a5-classes", counts)


def images_of_classes(study: Study, dataset: str) -> pd.DataFrame:
    """Columns dataset, class, images: of its test images, by the true classes in the store."""
    assert study.store is not None
    labels = study.store.labels(dataset)
    described = study.datasets.set_index("dataset")["class_names"]
    if labels is None or not described[dataset]:
        raise UserError(f"{study.name}: the true classes of {dataset} are not in the store")
    classes = json.loads(described[dataset])
    images = pd.Series(labels).value_counts().reindex(range(len(classes)), fill_value=0)
    return pd.DataFrame({"dataset": dataset, "class": classes, "images": images.to_numpy()})


def draw_classes(counts: pd.DataFrame, pairs: dict[str, str]) -> Figure:
    """A panel for each pair: bars of both versions by class, the largest first."""
    figure = Figure(figsize=(3.5 * len(pairs), 3.0), layout="constrained")
    panels = figure.subplots(1, len(pairs), squeeze=False)[0]
    for panel, pair in zip(panels, pairs.items(), strict=True):
        rows = counts[counts["dataset"].isin(pair)].sort_values("images", ascending=False)
        seaborn.barplot(rows, x="class", y="images", hue="dataset", hue_order=pair, ax=panel)
        panel.set_xlabel("")
        panel.set_ylabel("test images")
        panel.tick_params("x", labelrotation=60)
    return figure


if __name__ == "__main__":
    script(figure_a5)
