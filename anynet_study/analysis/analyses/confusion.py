"""Tell which classes are taken for which: confusion matrices, averaged over the architectures."""

from functools import partial

import numpy as np
import pandas as pd

from anynet_study.analysis import plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analyses.class_accuracy import over_architectures_and_images, shares_of
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.options import with_attrs
from anynet_study.analysis.apr.predictions import UNKNOWN
from anynet_study.analysis.study import Study
from anynet_study.core.errors import DoesNotApplyError
from anynet_study.core.metrics import confusion_matrix

#: Of up to so many classes the table has all pairs; so many a figure has room for.
MOST_CLASSES = 20
#: Of more classes, the table has so many pairs: the most frequent confusions.
MOST_PAIRS = 100


def confusion(study: Study) -> pd.DataFrame:
    """Return how often the images of each class are taken for each other one, on every dataset."""
    parts: Parts = {(str(name),): partial(of_dataset, study, str(name)) for name in study.errors}
    return stacked(["dataset"], parts, study.progress)


def of_dataset(study: Study, dataset: str) -> pd.DataFrame:
    """The confusion matrix of the test images of one dataset, a row for each pair of classes.

    Returns DataFrame[class, taken_for, images, share, low, high, lowest, highest, n]: the percent
    of the class's images that were taken for the other, mean over the architectures with the
    interval of `over_architectures_and_images`, and the least and most of one architecture. Of up
    to 20 classes all pairs, those of a class with itself (which are right) too; of more the 100
    most frequent confusions, the most frequent first.
    """
    predicted = study.predicted(dataset, "test", list(study.errors.index))
    predicted.correct()  # refuses what is no table of predictions
    known = predicted.labels != UNKNOWN
    truth, classes = predicted.labels[known], predicted.classes[:, known]
    count = int(max(truth.max(), classes.max())) + 1
    own = shares_of(study, predicted.architectures)
    images = np.bincount(truth, minlength=count)
    shares = np.zeros((count, count))
    for share, row in zip(own, classes, strict=True):
        shares += share * confusion_matrix(truth, row, count) / np.maximum(images, 1)[:, None]
    rows = []
    for one, other in chosen_pairs(shares, images):
        cells = 100.0 * (classes[:, truth == one] == other)
        each = cells.mean(axis=1)
        mean = over_architectures_and_images(cells, own, study.options.level)
        names = predicted.name_of(one), predicted.name_of(other)
        rows.append((*names, images[one], *mean, each.min(), each.max()))
    columns = ["class", "taken_for", "images", "share", "low", "high", "lowest", "highest"]
    table = pd.DataFrame(rows, columns=columns)
    weighted = study.weights is not None
    return with_attrs(table.assign(n=len(classes)), study.options.level, weighted=weighted)


def chosen_pairs(shares: np.ndarray, images: np.ndarray) -> list[tuple[int, int]]:
    """The pairs of classes (true, taken for) that the table has."""
    there = np.flatnonzero(images)
    if len(shares) <= MOST_CLASSES:
        return [(int(one), other) for one in there for other in range(len(shares))]
    wrong = shares - np.diag(np.diag(shares))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
    return [(int(one), int(other)) for one, other in pairs if wrong[one, other] > 0]


def drawn(study: Study) -> pd.DataFrame:
    """The confusion matrix of the first dataset that has few enough classes."""
    table = study.table("confusion").dropna(subset="share")
    for _, rows in table.groupby("dataset", sort=False):
        if len(rows) == rows["class"].nunique() * rows["taken_for"].nunique():
            return rows
    raise DoesNotApplyError(f"no dataset has at most {MOST_CLASSES} classes, as many as a figure")


CONFUSION = Analysis[Study](
    name="confusion",
    title="Classes taken for others (% of the images of a class): mean over the architectures",
    table=confusion,
    question="Which classes are taken for which?",
    formula=(
        "mean over the architectures of the share of a class's images that are taken for the other"
    ),
    source="the field's confusion matrix; what paper 5's class-wise accuracies leave open",
    avoid="for classes with few test images; to compare architectures, of which it is the mean",
    needs=("predicted",),
    headings={"class": "true class", "taken_for": "taken for", "n": "architectures"},
    figures=(
        StudyFigure(
            name="confusion",
            title="Classes taken for others",
            caption="Percent of the test images of each class (row) that are taken for each other "
            "one (column), mean over the architectures; the diagonal is right.",
            draw=lambda study, rows: plots.confusion_heatmap(rows),
            data=drawn,
            column="share",
        ),
    ),
    section="images",
    shown="folded",
    caption="Classes taken for others",
)
