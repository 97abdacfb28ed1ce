"""Paper 5, section 5.2: how accurate is a many-class model on subsets of its classes?

    python analysis/label_sets.py studies/paper cifar100 --sizes 10,50,100
    python analysis/label_sets.py studies/paper cifar100 --disjoint 10

Random subsets of the classes, each part of the next, or so many without a class in common; the
models choose among all classes, as they were trained.
"""

from typing import Annotated

import numpy as np
import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def label_sets(
    study: Study,
    dataset: str,
    sizes: Annotated[str, typer.Option(help="Classes of the subsets.")] = "2,5,10",
    disjoint: Annotated[int, typer.Option(help="So many disjoint sets of equal size.")] = 0,
    output: Output = FOLDER,
) -> None:
    """Draw label_sets.png and label_sets.pdf, of the first run of each architecture."""
    found = study.predicted(dataset, "test", list(study.errors.index))
    classes = int(np.max(found.labels, initial=0, where=found.labels < 65535)) + 1
    if disjoint:
        if not 1 <= disjoint <= classes // 2:
            raise UserError(f"--disjoint: {disjoint}; legal: 1 to {classes // 2}, half the classes")
        order = np.random.default_rng(study.options.seed).permutation(classes)
        parts = order[: classes // disjoint * disjoint].reshape(disjoint, -1)
        sets = {f"set {i}": tuple(sorted(part)) for i, part in enumerate(parts.tolist(), 1)}
    else:
        counts = [int(size) for size in sizes.split(",")]
        sets = apr.nested_label_sets(classes, counts, study.options.seed)
    names, level = found.architectures, study.options.level
    table = apr.label_set_accuracy(found.classes, found.labels, sets, names, level)
    print(table.groupby("label_set", sort=False)["accuracy"].describe().round(2).to_string())
    save(plots.label_set_chart(table), output / "label_sets", table)


if __name__ == "__main__":
    script(label_sets)
