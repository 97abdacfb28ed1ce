"""Models compared image by image, from their predictions.

McNemar's test of pairs, and changes of their order on a new test set (Recht et al. 2019, paper 2,
section 3.3), and accuracy on subsets of the classes (Feuer et al. 2023, paper 5, section 5.2).
Whether a model is better than another on the same images rests on the images on which one of them
alone is right; McNemar's test takes those as fair coins.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from anynet_study.analysis.apr.correlations import adjust
from anynet_study.analysis.apr.options import with_attrs
from anynet_study.core.errors import DoesNotApplyError, UserError, counted
from anynet_study.core.metrics import binomial_interval, check_level

#: In predictions and labels: not there (as in results stores).
UNKNOWN = 65535
#: Most models of which every pair is compared: two million pairs.
MOST = 2000
Classes = NDArray[np.int64]


def correctness(predictions: ArrayLike, labels: ArrayLike, names: object = None) -> pd.DataFrame:
    """Tell whether each model is right on each image: bool DataFrame, models x images.

    `predictions` (models, images) and `labels` (images,) are class numbers, `names` the models'.
    Images without a label (65535) are left out; a model without all of its predictions is refused.
    """
    classes, truth = np.asarray(predictions), np.asarray(labels)
    if classes.ndim != 2 or truth.shape != (classes.shape[1],):
        raise DoesNotApplyError(
            f"predictions, labels: shapes {classes.shape} and {truth.shape}; "
            "legal: (models, images) and (images,)"
        )
    known = truth != UNKNOWN
    if not known.any():
        raise DoesNotApplyError("labels: no image has one")
    if (classes[:, known] == UNKNOWN).any():
        gap = int(np.flatnonzero((classes[:, known] == UNKNOWN).any(axis=1))[0])
        raise DoesNotApplyError(f"predictions: model {gap} has none for some image")
    return pd.DataFrame(classes[:, known] == truth[known], index=names)


def mcnemar(
    correct: pd.DataFrame, original: pd.DataFrame | None = None, level: float = 0.95
) -> pd.DataFrame:
    """McNemar's test of every pair of models on one test set, and their order on another.

    `correct` is a bool table, models x images. Returns DataFrame[a, b, images, only_a, only_b,
    difference, p_exact, p_mid, p_holm], one row per pair in the table's order: images on which a
    alone, and b alone, is right; difference = accuracy of a - that of b, in percentage points.
    p_exact is the exact binomial test's, two-sided; p_mid counts the outcome that was seen half
    (Fagerland et al. 2013: less conservative, and its level holds in practice); p_holm is p_mid
    corrected for the number of pairs (Holm 1979). Models that are right on the same images have p =
    1.

    With `original`, such a table of the same models and other images, comes last their `order`:
    "same" as there or "changed" by the accuracies as they are, "tied" where one test set has none;
    "changed, significant" where in addition both test sets' p_holm are below 1 - level, so that
    sampling error is hardly why.

    Raises UserError for fewer than 2 models, repeated ones, those that are not in `original`, and
    cells that are not true or false.
    """
    check_level(level)
    right = check_correct(correct)
    if len(right) > MOST:
        raise DoesNotApplyError(
            f"correct: {len(right)} models; choose at most {MOST}, such as the best"
        )
    first, second = np.array(list(combinations(range(len(right)), 2))).T
    counts = right.astype(np.float32)
    # Whole numbers below 2**24, hence exact.
    alone = np.rint(counts @ (1 - counts).T).astype(np.int64)
    only_a, only_b = alone[first, second], alone[second, first]
    exact, mid = p_values(only_a, only_b)
    names = np.array(correct.index, dtype=object)
    result = pd.DataFrame({"a": names[first], "b": names[second], "images": right.shape[1]})
    result["only_a"], result["only_b"] = only_a, only_b
    result["difference"] = 100 * (only_a - only_b) / right.shape[1]
    result["p_exact"], result["p_mid"], result["p_holm"] = exact, mid, adjust(mid)
    if original is not None:
        if absent := [name for name in correct.index if name not in original.index]:
            raise DoesNotApplyError(f"original: no model {absent[0]}")
        result["order"] = _order(mcnemar(original.loc[correct.index]), result, level)
    return with_attrs(
        result, n=len(right), tests=f"the {counted(len(result), 'pair')} of the table"
    )


def _order(first: pd.DataFrame, second: pd.DataFrame, level: float) -> NDArray[Any]:
    """Tell by results of `mcnemar` on two test sets whether each pair keeps its order."""
    product = np.sign(first["difference"]) * np.sign(second["difference"])
    sure = (first["p_holm"] < 1 - level) & (second["p_holm"] < 1 - level)
    words = np.select([product > 0, product < 0], ["same", "changed"], "tied")
    return np.where(sure & (product < 0), "changed, significant", words)


def p_values(
    only_a: NDArray[np.int64], only_b: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact and mid-p two-sided p-values of McNemar's test from the discordant counts."""
    fewer, both = np.minimum(only_a, only_b), only_a + only_b
    tail = scipy.stats.binom.cdf(fewer, both, 0.5)
    exact = np.minimum(2 * tail, 1.0)
    mid = np.minimum(2 * tail - scipy.stats.binom.pmf(fewer, both, 0.5), 1.0)
    return exact, mid


def check_correct(correct: pd.DataFrame) -> NDArray[np.bool_]:
    """(models, images) whether a model is right. Raises UserError for what is no such table."""
    repeated = correct.index[correct.index.duplicated()]
    if len(repeated):
        raise DoesNotApplyError(f"correct: model {repeated[0]} is there more than once")
    if len(correct) < 2:
        raise DoesNotApplyError(f"correct: {len(correct)} models; at least 2 are needed")
    if not correct.shape[1]:
        raise DoesNotApplyError("correct: no image")
    values = correct.to_numpy()
    if values.dtype != np.bool_:
        if not np.isin(values, (0, 1)).all():
            raise DoesNotApplyError(
                "correct: legal are true and false (or 1 and 0) for every image"
            )
        values = values.astype(bool)
    result: NDArray[np.bool_] = values
    return result


def label_set_accuracy(
    predictions: ArrayLike,
    labels: ArrayLike,
    label_sets: Mapping[str, Collection[int]],
    names: Sequence[str] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy on the images of each label set's classes, per architecture.

    `predictions` (architectures, images) and `labels` (images,) are class numbers, `names` the
    architectures'. Returns DataFrame[architecture, label_set, classes, images, accuracy, low, high]
    in percent with Clopper-Pearson intervals. The predictions are taken as they are: where they
    were made among all classes, a model is wrong that prefers a class outside the set; for a choice
    within the set make them by `restrict` first, as the paper does. Images without a label (65535)
    count nowhere. Raises UserError for a set without images, or classes that no image has.
    """
    check_level(level)
    truth = np.asarray(labels)
    right = correctness(predictions, truth, names)
    known = truth[truth != UNKNOWN]
    parts = []
    for name, members in label_sets.items():
        wanted = np.array(sorted(set(members)), dtype=np.int64)
        if not len(wanted):
            raise DoesNotApplyError(f"label_sets: {name} has no class")
        absent = wanted[~np.isin(wanted, known)]
        if len(absent):
            raise DoesNotApplyError(f"label_sets: {name}: no image has class {absent[0]}")
        chosen = np.isin(known, wanted)
        accuracy = 100 * right.to_numpy()[:, chosen].mean(axis=1)
        low, high = binomial_interval(100 - accuracy, int(chosen.sum()), level)
        columns = {"architecture": right.index, "label_set": name, "classes": len(set(members))}
        columns |= {"images": int(chosen.sum()), "accuracy": accuracy}
        parts.append(pd.DataFrame({**columns, "low": 100 - high, "high": 100 - low}))
    if not parts:
        raise DoesNotApplyError("label_sets: at least one is needed")
    return with_attrs(pd.concat(parts, ignore_index=True), level, n=len(right))


def ensembles(
    scores: ArrayLike,
    labels: ArrayLike,
    sizes: Sequence[int],
    draws: int = 100,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Top-1 errors of ensembles, whose probabilities are the mean of those of their models.

    `scores` (models, images, classes) are logits, `labels` (images,) class numbers; images without
    a label (65535) count nowhere. Returns DataFrame[size, chosen, error, low, high, alone], in
    percent. "random": the mean over `draws` sets of so many models, and percentiles over the sets.
    "best": the best on one half of the images, tested on the other half, and the reverse; the
    error is the mean of both, and the interval their sampling error (Clopper-Pearson). `alone` is
    the mean error of the members by themselves. Raises UserError for sizes that are illegal.
    """
    check_level(level)
    truth = np.asarray(labels)
    known = truth != UNKNOWN
    shares = scipy.special.softmax(np.asarray(scores, np.float32)[:, known], axis=2)
    truth, count = truth[known], len(shares)
    if not len(truth) or min(sizes, default=0) < 1 or max(sizes) > count:
        raise UserError(f"sizes: {list(sizes)}; legal: 1 to {count} models, of images with labels")
    single = shares.argmax(axis=2) != truth
    generator = np.random.default_rng(seed)
    halves = np.array_split(generator.permutation(len(truth)), 2)
    rows: list[dict[str, object]] = []
    for size in sizes:
        sets = [generator.permutation(count)[:size] for _ in range(draws)]
        wrong = [100 * _wrong(shares[chosen], truth).mean() for chosen in sets]
        low, high = np.percentile(wrong, [50 * (1 - level), 50 * (1 + level)])
        alone = 100 * np.mean([single[chosen].mean() for chosen in sets])
        ends = {"error": np.mean(wrong), "low": low, "high": high, "alone": alone}
        rows.append({"size": size, "chosen": "random", **ends})
        right = np.zeros(len(truth), bool)
        members = []
        for own, other in (halves, halves[::-1]):
            best = np.argsort(single[:, own].mean(axis=1), kind="stable")[:size]
            right[other] = ~_wrong(shares[best][:, other], truth[other])
            members.append(single[best][:, other].mean(axis=1).mean())
        error = 100 * (1 - right.mean())
        low, high = binomial_interval(error, len(truth), level)
        ends = {"error": error, "low": float(low), "high": float(high)}
        rows.append({"size": size, "chosen": "best", **ends, "alone": 100 * np.mean(members)})
    return with_attrs(pd.DataFrame(rows), level, n=count)


def _wrong(shares: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.bool_]:
    """(images,) whether the mean of `shares` (models, images, classes) is wrong."""
    found: NDArray[np.bool_] = shares.mean(axis=0).argmax(axis=1) != truth
    return found


def restrict(scores: ArrayLike, label_set: Collection[int]) -> Classes:
    """(images,) the class of the highest score among a label set's, of scores (images, classes)."""
    table = np.asarray(scores)
    members = np.array(sorted(set(label_set)), dtype=np.int64)
    if table.ndim != 2 or not len(members) or members[0] < 0 or members[-1] >= table.shape[1]:
        raise DoesNotApplyError(
            f"label_set: legal are classes of scores (images, classes), here {table.shape}"
        )
    chosen: Classes = members[np.argmax(table[:, members], axis=1)]
    return chosen


def nested_label_sets(
    classes: int, sizes: Sequence[int], seed: int = 0
) -> dict[str, tuple[int, ...]]:
    """Random label sets of these sizes, "10 classes" a part of "100 classes" for the same seed."""
    if not sizes or min(sizes) < 1 or max(sizes) > classes:
        raise UserError(f"sizes: {list(sizes)}; legal: from 1 to {classes} classes")
    order = np.random.default_rng(seed).permutation(classes)
    return {f"{size} classes": tuple(sorted(order[:size].tolist())) for size in sizes}
