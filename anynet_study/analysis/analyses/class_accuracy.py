"""Which classes are hard, and do the architectures differ on them? Accuracy class by class."""

from functools import partial

import numpy as np
import pandas as pd

from anynet_study.analysis import plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analyses.health import mostly_guessed
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.bootstrap import resample
from anynet_study.analysis.apr.options import with_attrs
from anynet_study.analysis.apr.predictions import UNKNOWN
from anynet_study.analysis.study import Study

#: Classes that a figure has room for: the hardest.
MOST_CLASSES = 50
#: Resamples that the interval of a mean needs.
MOST_RESAMPLES = 2_000


def class_accuracy(study: Study) -> pd.DataFrame:
    """Mean and range over the architectures of the accuracy on each class (percent)."""
    parts: Parts = {(str(name),): partial(of_dataset, study, str(name)) for name in study.errors}
    return stacked(["dataset"], parts, study.progress)


def of_dataset(study: Study, dataset: str) -> pd.DataFrame:
    """Tabulate accuracies on the test images of one dataset, class by class.

    Returns DataFrame[class, images, mean, low, high, lowest, highest, n], in percent. The interval
    is that of the mean over architectures like these (BCa); weights of the architectures count.
    """
    predicted = study.predicted(dataset, "test", list(study.errors.index))
    right = predicted.correct()
    truth = predicted.labels[predicted.labels != UNKNOWN]
    numbers, images = np.unique(truth, return_counts=True)
    accuracies = np.stack(
        [100 * right.to_numpy()[:, truth == number].mean(axis=1) for number in numbers], axis=1
    )
    weights = study.weights
    own = np.ones(len(right)) if weights is None else weights.loc[right.index].to_numpy(float)
    mean = resample(
        lambda counts: (counts * own) @ accuracies / (counts @ own)[:, None],
        len(right),
        min(study.options.resamples, MOST_RESAMPLES),
        study.options.seed,
    )
    names = [predicted.names[number] if predicted.names else str(number) for number in numbers]
    low, high = mean.interval(study.options.level)
    columns = {"class": names, "images": images, "mean": mean.estimate, "low": low, "high": high}
    columns |= {"lowest": accuracies.min(axis=0), "highest": accuracies.max(axis=0)}
    table = pd.DataFrame({**columns, "n": len(right)})
    return with_attrs(table, study.options.level, weighted=weights is not None)


def drawn_classes(study: Study) -> pd.DataFrame:
    """The hardest classes of the first dataset with predictions, the hardest first."""
    known = study.table("class-accuracy").dropna(subset="mean")
    rows = known[known["dataset"] == known["dataset"].iloc[0]]
    return rows.sort_values("mean", kind="stable").head(MOST_CLASSES)


def hardest(table: pd.DataFrame) -> list[str]:
    """The hardest and the easiest class where classes differ most, if they clearly do."""
    ends = []
    for _, rows in table.dropna(subset="mean").groupby("dataset", sort=False):
        hard, easy = rows.loc[rows["mean"].idxmin()], rows.loc[rows["mean"].idxmax()]
        if hard["high"] < easy["low"]:
            ends.append((easy["mean"] - hard["mean"], hard, easy))
    if not ends:
        return []
    _, hard, easy = max(ends, key=lambda end: end[0])
    return [
        f"Classes differ most on {hard['dataset']}: an architecture classifies on average "
        f"{_percents(hard)} of the images of the hardest class ({hard['class']}) correctly, and "
        f"{_percents(easy)} of those of the easiest ({easy['class']})."
    ]


def _percents(row: pd.Series) -> str:
    """Mean accuracy with its interval, in whole percents."""
    return f"{row['mean']:.0f}% [{row['low']:.0f}, {row['high']:.0f}]"


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
            "the architectures with its {level} bootstrap interval; grey: from the worst to the "
            "best architecture.",
            draw=lambda study, rows: plots.class_chart(rows),
            data=drawn_classes,
            column="mean",
        ),
    ),
    say=lambda study, table: hardest(table[~table["dataset"].isin(mostly_guessed(study))]),
    topic="Classes",
    most_resamples=MOST_RESAMPLES,
    section="images",
    shown="folded",
    caption="Accuracy class by class",
)
