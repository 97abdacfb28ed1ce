"""What predictions on single images say."""

import pandas as pd

from anynet_study import plots
from anynet_study.errors import UserError
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import FigureKind


def _label_sets(analysis: Analysis) -> pd.DataFrame:
    """Choices among all classes on the first dataset that has them."""
    table = analysis["label-sets"]
    known = table[(table["chosen_among"] == "all classes") & table["architecture"].notna()]
    if known.empty:
        raise UserError("no predictions among all classes are stored")
    return known[known["dataset"] == known["dataset"].iloc[0]]


KINDS: dict[str, FigureKind] = {
    "label-sets": FigureKind(
        "Accuracy of the ten best architectures on the first dataset with predictions, on the "
        "images of ever fewer of its classes, which are chosen among all.",
        lambda a: plots.label_set_chart(_label_sets(a)),
        lambda a: a["label-sets"],
        needs=("label-sets",),
    ),
}
