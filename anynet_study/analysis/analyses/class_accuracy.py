"""Tell which classes are hard, and whether the architectures differ on them, class by class."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from anynet_study.analysis import plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.options import Floats, with_attrs
from anynet_study.analysis.apr.predictions import UNKNOWN
from anynet_study.analysis.study import Study

#: Classes that a figure has room for: the hardest.
MOST_CLASSES = 50


def class_accuracy(study: Study) -> pd.DataFrame:
    """Mean and range over the architectures of the accuracy on each class (percent)."""
    parts: Parts = {(str(name),): partial(of_dataset, study, str(name)) for name in study.errors}
    return stacked(["dataset"], parts, study.progress)


def of_dataset(study: Study, dataset: str) -> pd.DataFrame:
    """Tabulate accuracies on the test images of one dataset, class by class.

    Returns DataFrame[class, images, mean, low, high, lowest, highest, n], in percent, with the
    interval of `over_architectures_and_images`. Weights of the architectures count.
    """
    predicted = study.predicted(dataset, "test", list(study.errors.index))
    right = predicted.correct()
    truth = predicted.labels[predicted.labels != UNKNOWN]
    numbers, images = np.unique(truth, return_counts=True)
    weights = study.weights
    own = shares_of(study, list(right.index))
    rows = []
    for number in numbers:
        cells = 100 * right.to_numpy()[:, truth == number].astype(float)
        by_architecture = cells.mean(axis=1)
        mean = over_architectures_and_images(cells, own, study.options.level)
        rows.append((*mean, by_architecture.min(), by_architecture.max()))
    names = [predicted.name_of(number) for number in numbers]
    table = pd.DataFrame(rows, columns=["mean", "low", "high", "lowest", "highest"])
    table.insert(0, "class", names)
    table.insert(1, "images", images)
    return with_attrs(table.assign(n=len(right)), study.options.level, weighted=weights is not None)


def shares_of(study: Study, architectures: list[str]) -> Floats:
    """(architectures,) the share of each in a mean over them: by its weight, or alike."""
    weights = study.weights
    own = np.ones(len(architectures)) if weights is None else weights.loc[architectures].to_numpy()
    return np.asarray(own / own.sum(), float)


def over_architectures_and_images(
    cells: Floats, own: Floats, level: float
) -> tuple[float, float, float]:
    """The mean of (architectures, images) cells from 0 to 100, and its interval.

    It is for architectures and images like these: Student's t, with the variance of the mean over
    the images and that over the architectures added, which counts the sampling error of single
    cells twice; the fewer of the two give the degrees of freedom. `own` (architectures,) is the
    share of each in the mean. Of one image or architecture, the interval is all of 0 to 100.
    """
    by_architecture, by_image = cells.mean(axis=1), own @ cells
    mean, count, reach = float(by_image.mean()), len(by_image), np.inf
    if count > 1 and len(own) > 1:
        variance = float((own**2) @ (by_architecture - mean) ** 2) * len(own) / (len(own) - 1)
        variance += float(by_image.var(ddof=1)) / count
        fewer = min(count, 1 / float((own**2).sum()))
        reach = stdtrit(max(fewer - 1, 1), (1 + level) / 2) * np.sqrt(variance)
    return mean, max(mean - reach, 0.0), min(mean + reach, 100.0)


def drawn_classes(study: Study) -> pd.DataFrame:
    """The hardest classes of the first dataset with predictions, the hardest first."""
    known = study.table("class-accuracy").dropna(subset="mean")
    rows = known[known["dataset"] == known["dataset"].iloc[0]]
    return rows.sort_values("mean", kind="stable").head(MOST_CLASSES)


CLASS_ACCURACY = Analysis[Study](
    name="class-accuracy",
    title="Accuracy class by class (%): mean and range over the architectures",
    table=class_accuracy,
    question="Which classes are hard?",
    formula=(
        "mean over the architectures of the share of a class's images that are classified correctly"
    ),
    avoid=(
        "for classes with few test images: the mean over architectures does not reduce their "
        "sampling error"
    ),
    needs=("predicted",),
    headings={"mean": "mean accuracy", "n": "architectures"},
    figures=(
        StudyFigure(
            name="class-accuracy",
            title="Accuracy class by class",
            caption="Accuracy on the test images of each class (of many, the hardest): mean over "
            "the architectures with its {level} interval, which allows for the class's images; "
            "grey: from the worst to the best architecture.",
            draw=lambda study, rows: plots.class_chart(rows),
            data=drawn_classes,
            column="mean",
        ),
    ),
    section="images",
    shown="folded",
    caption="Accuracy class by class",
)
