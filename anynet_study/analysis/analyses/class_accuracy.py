"""Which classes are hard, and do the architectures differ on them? Accuracy class by class."""

from functools import partial

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from anynet_study.analysis import plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.options import with_attrs
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

    Returns DataFrame[class, images, mean, low, high, lowest, highest, n], in percent. The interval
    is that of the mean over architectures and images like these: Student's t, with the variance of
    the mean over the images of the class and that over the architectures added, which counts the
    sampling error of single cells twice; the fewer of the two give the degrees of freedom. Weights
    of the architectures count. Of one image, it is all of 0 to 100.
    """
    predicted = study.predicted(dataset, "test", list(study.errors.index))
    right = predicted.correct()
    truth = predicted.labels[predicted.labels != UNKNOWN]
    numbers, images = np.unique(truth, return_counts=True)
    weights = study.weights
    own = np.ones(len(right)) if weights is None else weights.loc[right.index].to_numpy(float)
    own = own / own.sum()
    rows = []
    for number in numbers:
        cells = 100 * right.to_numpy()[:, truth == number].astype(float)
        by_architecture, by_image = cells.mean(axis=1), own @ cells
        mean, count = float(by_image.mean()), len(by_image)
        variance = float((own**2) @ (by_architecture - mean) ** 2) * len(own) / max(len(own) - 1, 1)
        reach = np.inf
        if count > 1 and len(own) > 1:
            variance += float(by_image.var(ddof=1)) / count
            fewer = min(count, 1 / float((own**2).sum()))
            reach = stdtrit(max(fewer - 1, 1), (1 + study.options.level) / 2) * np.sqrt(variance)
        ends = max(mean - reach, 0.0), min(mean + reach, 100.0)
        rows.append((mean, *ends, by_architecture.min(), by_architecture.max()))
    names = [predicted.names[number] if predicted.names else str(number) for number in numbers]
    table = pd.DataFrame(rows, columns=["mean", "low", "high", "lowest", "highest"])
    table.insert(0, "class", names)
    table.insert(1, "images", images)
    return with_attrs(table.assign(n=len(right)), study.options.level, weighted=weights is not None)


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
