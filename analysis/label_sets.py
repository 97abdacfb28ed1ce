"""Paper 5, section 5.2: how accurate is a many-class model on subsets of its classes?

    python analysis/label_sets.py studies/paper cifar100 --sizes 10,50,100

Random nested subsets of the classes; the models choose among all of them, as they were trained.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script
from anynet_study.errors import UserError


def label_sets(
    source: Source,
    dataset: str,
    sizes: Annotated[str, typer.Option(help="Classes of the subsets.")] = "2,5,10",
    seed: int = 0,
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw label_sets.png and label_sets.pdf, of the first run of each architecture."""
    store = read_errors(source).store
    labels = None if store is None else store.labels(dataset)
    if store is None or labels is None:
        raise UserError(f"{source}: has no predictions on {dataset} with their true classes")
    runs, predictions = store.predictions(dataset)
    first = np.flatnonzero(~runs["architecture"].duplicated())
    names = list(runs["architecture"].iloc[first])
    classes = int(labels[labels < 65535].max()) + 1
    sets = apr.nested_label_sets(classes, [int(size) for size in sizes.split(",")], seed)
    table = apr.label_set_accuracy(predictions[first], labels, sets, names)
    print(table.groupby("label_set", sort=False)["accuracy"].describe().round(2).to_string())
    print(*plots.save(plots.label_set_chart(table), output / "label_sets"), sep="\n")


if __name__ == "__main__":
    script(label_sets)
