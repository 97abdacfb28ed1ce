"""Metrics of classification: their names, and their values from true and predicted classes.

And of what, beside a run's own test set, a network's error can be: `EvaluationKind`.

Errors are 100 * (1 - value) percent. Nothing here imports torch: the AUROC, which needs the scores
of a network, is computed where networks are tested.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

Metric = Literal["top1", "top5", "balanced_accuracy", "macro_f1", "quadratic_kappa", "auroc"]

#: What an evaluation of a trained network is. shift: other images, of the same classes. transform:
#: its own test images, changed. label set: a choice among fewer of its classes. few-shot: classes
#: told by a few images. validation: images held out of training. own images: none of these, such
#: as networks between two sets of weights on the run's own test images.
EvaluationKind = Literal["shift", "transform", "label set", "few-shot", "validation", "own images"]

#: So many standard errors is a one-sided interval of 95% wide.
ONE_SIDED_95 = 1.6449

#: Per-epoch curves of a run; losses in nats, errors in percent, `test_error` on its metric.
CURVES = (
    "train_loss",
    "train_top1",
    "train_top5",
    "test_loss",
    "test_top1",
    "test_top5",
    "test_error",
)

#: As people write them, before "error".
SHOWN: Mapping[str, str] = MappingProxyType(
    {
        "top1": "top-1",
        "top5": "top-5",
        "balanced_accuracy": "balanced",
        "macro_f1": "macro F1",
        "quadratic_kappa": "quadratic kappa",
        "auroc": "AUROC",
    }
)


#: (classes, classes) images, or shares of them, by true class and predicted class.
Confusion = NDArray[Any]


def confusion_matrix(
    truth: NDArray[np.integer], predictions: NDArray[np.integer], classes: int
) -> Confusion:
    """Tell how often a class (row) was taken for another (column); both (images,) in
    0..classes-1.
    """
    pairs = truth.astype(np.int64) * classes + predictions
    return np.bincount(pairs, minlength=classes**2).reshape(classes, classes)


def accuracy(confusion: Confusion) -> float:
    """Share of images that are right (`accuracy_score`)."""
    return float(np.trace(confusion) / confusion.sum())


def class_accuracy(confusion: Confusion) -> NDArray[np.float64]:
    """(classes,) share of each class's images that are right (`recall_score`); NaN without any."""
    images = confusion.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.diag(confusion) / images)


def balanced_accuracy(confusion: Confusion) -> float:
    """Mean accuracy of the classes that have images (`balanced_accuracy_score`)."""
    return float(np.nanmean(class_accuracy(confusion)))


def macro_f1(confusion: Confusion) -> float:
    """Mean F1 of the classes that have images or are predicted (`f1_score`, macro)."""
    right = np.diag(confusion)
    seen = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float(np.mean(2 * right[seen > 0] / seen[seen > 0]))


def quadratic_kappa(confusion: Confusion) -> float:
    """Cohen's kappa with quadratic weights (`cohen_kappa_score`, all classes as labels).

    1 for perfect agreement, 0 for no better than by chance, below 0 for worse; 0 where there is
    one class alone, on which nothing can be said. The classes' order is their numbers'.
    """
    place = np.arange(len(confusion))
    weights = (place[:, None] - place) ** 2
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    by_chance = float((weights * np.outer(rows, columns)).sum()) / confusion.sum()
    return 1.0 - float((weights * confusion).sum()) / by_chance if by_chance else 0.0


#: (images, classes), 1 or true where an image has (or is said to have) the class.
Matrix = NDArray[np.uint8] | NDArray[np.bool_]


def macro_f1_of_labels(truth: Matrix, predictions: Matrix) -> float:
    """Mean F1 of all classes; 0 for one that no image has or is said to have.

    `f1_score` of scikit-learn, macro, with `zero_division=0`.
    """
    right = (truth.astype(bool) & predictions.astype(bool)).sum(axis=0)
    seen = truth.sum(axis=0, dtype=np.int64) + predictions.sum(axis=0, dtype=np.int64)
    return float(np.mean(2 * right / np.maximum(seen, 1)))


def f1_thresholds(scores: NDArray[np.float64], truth: Matrix) -> NDArray[np.float64]:
    """(classes,) above which `scores` (images, classes) have the highest F1 for each class.

    Half-way between two scores; of several equally good ones the highest. 0 where that is as good,
    and for a class that no image has.
    """
    found = np.zeros(scores.shape[1])
    for label, (column, having) in enumerate(zip(scores.T, truth.T > 0, strict=True)):
        order = np.argsort(-column, kind="stable")
        down = np.append(column[order], column.min() - 2.0)
        # Of a cut after each image: those that are right, twice, by those said or true.
        right, said = np.cumsum(having[order]), np.arange(1, len(column) + 1)
        f1 = np.where(down[:-1] > down[1:], 2 * right / (said + having.sum()), -1.0)
        above = column > 0
        plain = 2 * (above & having).sum() / max(1, above.sum() + having.sum())
        if f1.max() > plain:
            cut = int(f1.argmax())
            found[label] = (down[cut] + down[cut + 1]) / 2
    return found


def mean_auroc(scores: NDArray[Any], labels: NDArray[Any]) -> float:
    """Area under the ROC curve, as `roc_auc_score` of scikit-learn; 0.5 where there is none.

    `scores` (images, classes) are a network's outputs; `labels` (images,) in 0..classes-1, or
    (images, classes) of zeros and ones where an image can have several classes. With two classes it
    is that of the second; with more, the mean over classes of the one by its probability (softmax)
    against the rest; with several labels the mean over classes. Classes that all images have, or
    none, do not count. Ties count half.
    """
    return float(_aurocs(scores, labels, np.ones((1, len(labels)), np.int64))[0])


def auroc_interval(
    scores: NDArray[Any],
    labels: NDArray[Any],
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the error of `mean_auroc`, as if other images had been tested.

    Arguments as there. Percentiles of the Bayesian bootstrap (Rubin 1981), with half an image more
    of each class's share, spread over the classes: half of it is ranked right, beyond all others,
    and half wrong. So 50 images that are all in the right order do not say that all are. The
    interval holds the error itself.
    """
    generator, images = np.random.default_rng(seed), len(labels)
    together = max(1, 10**6 // images)  # that memory is bounded
    values = np.concatenate(
        [
            _aurocs(scores, labels, generator.standard_exponential((part, images)), generator)
            for part in (min(together, resamples - n) for n in range(0, resamples, together))
        ]
    )
    return _ends(values, error_of(mean_auroc(scores, labels)), level)


def _ends(values: NDArray[np.float64], error: float, level: float) -> tuple[float, float]:
    """Percentiles of drawn values of a metric, as errors in percent; they hold the error."""
    tail = 50.0 * (1.0 - level)
    high, low = np.percentile(values, [tail, 100.0 - tail])
    return min(error_of(low), error), max(error_of(high), error)


def _aurocs(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any],
    generator: "np.random.Generator | None" = None,
) -> NDArray[np.float64]:
    """(resamples,) mean AUROCs of images with `weights` (resamples, images).

    With a generator, images are added as `auroc_interval` says.
    """
    scores = np.asarray(scores, np.float64)
    if labels.ndim == 2:
        positive = labels > 0
    elif scores.shape[1] == 2:
        scores, positive = scores[:, 1:] - scores[:, :1], labels[:, None] == 1
    else:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores = scores / scores.sum(axis=1, keepdims=True)
        positive = labels[:, None] == np.arange(scores.shape[1])
    total, known = np.zeros(len(weights)), np.zeros(len(weights))
    for column, has_it in zip(scores.T, positive.T, strict=True):
        order = np.argsort(column, kind="stable")
        ties = np.flatnonzero(np.diff(column[order], prepend=-np.inf))  # where each value begins
        ones, others = (
            np.add.reduceat((weights * one)[:, order], ties, axis=1) for one in (has_it, ~has_it)
        )
        if generator is not None:
            share = has_it.mean() / (4 * scores.shape[1])
            rest = (1 - has_it.mean()) / (4 * scores.shape[1])
            low, high, first, last = generator.gamma(
                [share, share, rest, rest], size=(len(weights), 4)
            ).T[:, :, None]
            ones, others = np.hstack([low, ones, high]), np.hstack([first, others, last])
        wins = (ones * (others.cumsum(axis=1) - others / 2)).sum(axis=1)  # Mann-Whitney's
        pairs = ones.sum(axis=1) * others.sum(axis=1)
        total += np.divide(wins, pairs, out=np.zeros(len(wins)), where=pairs > 0)
        known += pairs > 0
    return np.where(known > 0, total / np.maximum(known, 1), 0.5)


#: Those that are a matter of predicted classes alone.
OF_CONFUSION: Mapping[str, Callable[[Confusion], float]] = MappingProxyType(
    {
        "top1": accuracy,
        "balanced_accuracy": balanced_accuracy,
        "macro_f1": macro_f1,
        "quadratic_kappa": quadratic_kappa,
    }
)


def error_of(value: float) -> float:
    """100 * (1 - value) percent; at most 100, also for a kappa below zero."""
    return float(100.0 * (1.0 - min(1.0, max(0.0, value))))


def prediction_error(
    metric: str, truth: NDArray[Any], predictions: NDArray[Any], classes: int
) -> float:
    """Error in percent on a metric of predicted classes alone: not top5, not auroc.

    `truth` and `predictions` are (images,) in 0..classes-1; or (images, classes) of zeros and
    ones, with macro_f1. Raises KeyError for another metric.
    """
    if truth.ndim == 2:
        return error_of({"macro_f1": macro_f1_of_labels}[metric](truth, predictions))
    return error_of(OF_CONFUSION[metric](confusion_matrix(truth, predictions, classes)))


def widened(level: float, n: float) -> float:
    """The level of a normal interval as wide as Student's t of n, by the root of n / (n - 1) too.

    Resamples of a small sample vary too little (expanded percentiles: Hesterberg, "What Teachers
    Should Know About the Bootstrap", 2015). Of fewer than two, as of two.
    """
    from scipy.special import ndtr, stdtrit  # takes longer to import than this module

    freedom = max(n - 1, 1)
    wide = 2 * ndtr(np.sqrt(n / freedom) * stdtrit(freedom, (1 + level) / 2)) - 1
    return min(float(wide), 1 - 1e-9)  # of very few: all that was drawn


def error_interval(
    metric: str,
    truth: NDArray[Any],
    predictions: NDArray[Any],
    classes: int,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of `prediction_error`, as if other images had been tested.

    Arguments as there. Percentiles of the Bayesian bootstrap (Rubin 1981): the shares of the cells
    of the confusion matrix are drawn from their Dirichlet distribution, given the counts and one
    image more, half of it right and half wrong, spread over the classes that are there. So 50
    images without an error do not say that there is none: the prior is Jeffreys's of an error.
    The interval holds the error itself. Of images of several classes each has one weight, and the
    image more is spread over the classes, by their share of the images: half of it rightly said,
    a quarter missed, a quarter said wrongly; the interval is `widened` for so few images.
    """
    generator, images = np.random.default_rng(seed), len(truth)
    if truth.ndim == 2:
        level = widened(level, images)
        weights = generator.standard_exponential((resamples, images))
        has, says = truth.astype(np.float64), predictions.astype(np.float64)
        more = has.mean(axis=0) / (2 * truth.shape[1])
        right, missed, wrong = generator.gamma(more, size=(3, resamples, truth.shape[1]))
        seen = weights @ (has + says) + 2 * right + missed + wrong
        right += weights @ (has * says)
        values = (2 * right / np.where(seen > 0, seen, 1)).mean(axis=1)
    else:
        cells = confusion_matrix(truth, predictions, classes)
        shares = _drawn_shares(cells, resamples, generator)
        values = np.array([OF_CONFUSION[metric](one.reshape(cells.shape)) for one in shares])
    return _ends(values, prediction_error(metric, truth, predictions, classes), level)


def _drawn_shares(
    cells: Confusion, resamples: int, generator: "np.random.Generator"
) -> NDArray[np.float64]:
    """(resamples, classes**2) shares of the cells of a confusion matrix, as in `error_interval`."""
    there = np.flatnonzero(cells.sum(axis=1))
    share = cells.sum(axis=1)[there] / cells.sum()
    one_more = np.diag(share / 2)
    if len(there) > 1:
        wrong = np.outer(share, np.ones(len(there))) / (2 * (len(there) - 1))
        one_more += wrong - np.diag(np.diag(wrong))
    given = cells.astype(np.float64)
    given[np.ix_(there, there)] += one_more
    held = np.flatnonzero(given)
    drawn = np.zeros((resamples, given.size))
    drawn[:, held] = generator.dirichlet(given.ravel()[held], resamples)
    return drawn


def check_level(level: float, resamples: int | None = None, seed: int = 0) -> None:
    """Raise UserError unless an interval of this level can be had from the resamples, if any."""
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    fewest = int(np.ceil(2 / (1 - level)))
    if resamples is not None and resamples < fewest:
        raise UserError(
            f"resamples: {resamples} is too few for intervals of level {level}; "
            f"at least {fewest}, 10000 is usual"
        )
    if seed < 0:
        raise UserError(f"seed: {seed} is negative; legal: 0, 1, 2, ...")


def binomial_interval(
    error: Any, images: Any, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact (Clopper-Pearson) intervals of errors in percent on so many test images, in percent.

    `error` and `images` are arrays that broadcast; the number of wrong images is the nearest whole
    one, which undoes the rounding of errors to a few digits. NaN where either is missing. The
    interval is of the error on all images like those of the test set; it says nothing of what
    another training of the same model would give. Raises UserError for errors outside 0 to 100,
    fewer than one image, and a level that is not between 0 and 1.

    Source: Clopper and Pearson, "The use of confidence or fiducial limits", 1934.
    """
    from scipy.special import betaincinv  # takes longer to import than this module

    check_level(level)
    errors, counts = np.broadcast_arrays(np.asarray(error, float), np.asarray(images, float))
    known = ~(np.isnan(errors) | np.isnan(counts))
    if (known & ((errors < 0) | (errors > 100))).any():
        raise UserError("error: outside 0 to 100 percent")
    if (known & (counts < 1)).any():
        raise UserError("images: a test set has at least 1")
    n = np.where(known, counts, 1.0)
    wrong = np.round(np.where(known, errors, 0.0) / 100 * n)
    tail = (1 - level) / 2
    # No beta distribution has a parameter 0; there the interval ends at 0 or at 1.
    right = n - wrong
    low = np.where(wrong > 0, betaincinv(np.maximum(wrong, 1), right + 1, tail), 0.0)
    high = np.where(right > 0, betaincinv(wrong + 1, np.maximum(right, 1), 1 - tail), 1.0)
    return np.where(known, 100 * low, np.nan), np.where(known, 100 * high, np.nan)


def single_runs(means: "pd.DataFrame", seed: int = 0) -> "pd.DataFrame":
    """Runs as those whose means and standard deviations are known may have been.

    `means` is long: architecture, dataset, replicate, error (percent), error_std (points, with
    n - 1) and trainings, the number of runs that the error is the mean of. Returns
    DataFrame[architecture, dataset, replicate, error], one row per run. Runs have the mean and the
    standard deviation that are given; what these leave open is drawn, as of normal noise: what
    depends on means and variances alone, such as intervals of means and the ICC of errors, is the
    same in every draw, that of ranks nearly. Means whose standard deviation is not known (NaN) are
    left out; where all errors are of one training, they are returned as they are.

    >>> import pandas as pd
    >>> mean = {"architecture": ["a"], "dataset": ["big"], "replicate": [0], "error": [30.0]}
    >>> runs = single_runs(pd.DataFrame({**mean, "error_std": [0.5], "trainings": [4]}))
    >>> len(runs), round(runs["error"].mean(), 9), round(runs["error"].std(), 9)
    (4, 30.0, 0.5)
    """
    kept = ["architecture", "dataset", "replicate", "error"]
    if not (means["trainings"] > 1).any():
        return means[kept]
    known = means[(means["trainings"] == 1) | means["error_std"].notna()]
    counts = known["trainings"].to_numpy(np.int64)
    runs = known.loc[known.index.repeat(counts), kept].reset_index(drop=True)
    of = np.repeat(np.arange(len(known)), counts)
    drawn = np.random.default_rng(seed).normal(size=len(runs))
    drawn -= (np.bincount(of, drawn) / counts)[of]
    length = np.sqrt(np.bincount(of, drawn**2) / np.maximum(counts - 1, 1))
    with np.errstate(invalid="ignore"):
        away = np.nan_to_num(drawn / length[of] * known["error_std"].to_numpy(float)[of])
    numbers = runs.groupby(["architecture", "dataset"], observed=True).cumcount()
    return runs.assign(error=runs["error"] + away, replicate=numbers)


def chance_error(labels: NDArray[Any], classes: int, metric: str) -> float:
    """Error in percent of the best guess that is the same for every image.

    The most frequent class (top5: the five most frequent). Where an image can have several
    classes: all of them, or for top1 and top5 the most frequent ones. It is what diverged runs
    count as: 50 on auroc, 100 on quadratic_kappa, 100 * (1 - 1 / classes) on balanced_accuracy.
    """
    if metric == "auroc":
        return 50.0
    if metric in ("top1", "top5"):
        return _best_guesses(labels, classes, 5 if metric == "top5" else 1)
    if labels.ndim == 2:
        return prediction_error(metric, labels, np.ones_like(labels), classes)
    most = np.bincount(labels, minlength=classes).argmax()
    return prediction_error(metric, labels, np.full_like(labels, most), classes)


def shown_below(chance: float, images: float, metric: str | None) -> float:
    """The error (percent) below which a network is shown to err less than guessing, `chance`.

    One-sided at 95%, by the normal approximation of a proportion of `images` images; `chance`
    itself for metrics that are no proportion, and where the number of images is not known (NaN).
    """
    if metric not in ("top1", "top5") or math.isnan(images):
        return chance
    share = chance / 100
    return chance - 100 * ONE_SIDED_95 * math.sqrt(share * (1 - share) / images)


def _best_guesses(labels: NDArray[Any], classes: int, guesses: int) -> float:
    if labels.ndim == 1:
        counts = np.sort(np.bincount(labels, minlength=classes))[::-1]
        return float(100.0 * (1.0 - counts[:guesses].sum() / counts.sum()))
    most = np.argsort(-labels.sum(axis=0, dtype=np.int64), kind="stable")[:guesses]
    return error_of(float(labels[:, most].any(axis=1).mean()))


BITS = 15


def words_an_image(classes: int) -> int:
    """Words that hold the classes of one image."""
    return -(-classes // BITS)


def to_words(matrix: NDArray[Any]) -> NDArray[np.uint16]:
    """(images * words,) of a matrix (images, classes) of zeros and ones, image after image."""
    images, classes = matrix.shape
    bits = np.zeros((images, words_an_image(classes) * BITS), np.uint16)
    bits[:, :classes] = matrix
    weights = (1 << np.arange(BITS)).astype(np.uint16)
    words: NDArray[np.uint16] = (bits.reshape(-1, BITS) * weights).sum(axis=1, dtype=np.uint16)
    return words


def from_words(words: NDArray[np.uint16], classes: int) -> NDArray[np.uint8]:
    """(images, classes) uint8 of zeros and ones: `to_words` backwards."""
    bits = (words[:, None] >> np.arange(BITS, dtype=np.uint16)) & 1
    return bits.reshape(-1, words_an_image(classes) * BITS)[:, :classes].astype(np.uint8)
