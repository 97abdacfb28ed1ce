"""Pairs of models compared image by image: McNemar's test, and changes of their order.

Recht et al. 2019 (paper 2), section 3.3: few pairs of models change their order on a new test set.
Whether a model is better than another on the same images rests on the images on which one of them
alone is right; McNemar's test takes those as fair coins.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anynet_study.apr.edf_compare import holm
from anynet_study.errors import UserError

#: In predictions and labels: not there (as in results stores).
UNKNOWN = 65535
#: Most models of which every pair is compared: two million pairs.
MOST = 2000


def correctness(predictions: ArrayLike, labels: ArrayLike, names: object = None) -> pd.DataFrame:
    """Whether each model is right on each image: bool DataFrame, models x images.

    `predictions` (models, images) and `labels` (images,) are class numbers, `names` the models'.
    Images without a label (65535) are left out; a model without all of its predictions is refused.
    """
    classes, truth = np.asarray(predictions), np.asarray(labels)
    if classes.ndim != 2 or truth.shape != (classes.shape[1],):
        raise UserError(
            f"predictions, labels: shapes {classes.shape} and {truth.shape}; "
            "legal: (models, images) and (images,)"
        )
    known = truth != UNKNOWN
    if not known.any():
        raise UserError("labels: no image has one")
    if (classes[:, known] == UNKNOWN).any():
        gap = int(np.flatnonzero((classes[:, known] == UNKNOWN).any(axis=1))[0])
        raise UserError(f"predictions: model {gap} has none for some image")
    return pd.DataFrame(classes[:, known] == truth[known], index=names)


def mcnemar(correct: pd.DataFrame) -> pd.DataFrame:
    """McNemar's test of every pair of models on one test set.

    `correct` is a bool table, models x images. Returns DataFrame[a, b, images, only_a, only_b,
    difference, p_exact, p_mid, p_holm], a row a pair in the table's order: images on which a alone,
    and b alone, is right; difference = accuracy of a - that of b, in percentage points. p_exact is
    the exact binomial test's, two-sided; p_mid counts the outcome that was seen half (Fagerland et
    al. 2013: less conservative, and its level holds in practice); p_holm is p_mid corrected for the
    number of pairs (Holm 1979). Models that are right on the same images have p = 1.

    Raises UserError for fewer than 2 models, repeated ones, and cells that are not true or false.
    """
    right = check_correct(correct)
    if len(right) > MOST:
        raise UserError(f"correct: {len(right)} models; choose at most {MOST}, such as the best")
    first, second = np.array(list(combinations(range(len(right)), 2))).T
    counts = right.astype(np.float32)
    # Whole numbers below 2**24, hence exact.
    alone = np.rint(counts @ (1 - counts).T).astype(np.int64)
    only_a, only_b = alone[first, second], alone[second, first]
    exact, mid = p_values(only_a, only_b)
    names = np.array(correct.index, dtype=object)
    images = right.shape[1]
    return pd.DataFrame(
        {
            "a": names[first],
            "b": names[second],
            "images": images,
            "only_a": only_a,
            "only_b": only_b,
            "difference": 100 * (only_a - only_b) / images,
            "p_exact": exact,
            "p_mid": mid,
            "p_holm": holm(mid),
        }
    )


def p_values(
    only_a: NDArray[np.int64], only_b: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact and mid-p two-sided p-values of McNemar's test from the discordant counts."""
    fewer, both = np.minimum(only_a, only_b), only_a + only_b
    tail = stats.binom.cdf(fewer, both, 0.5)
    exact = np.minimum(2 * tail, 1.0)
    mid = np.minimum(2 * tail - stats.binom.pmf(fewer, both, 0.5), 1.0)
    return exact, mid


def order_changes(original: pd.DataFrame, new: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Pairs of models whose order differs between two test sets, and how sure that is.

    `original` and `new` are bool tables, models x images, matched by model. Returns DataFrame[a, b,
    original_difference, original_p, new_difference, new_p, order], a row a pair that both test sets
    have: differences of accuracy, a - b, in percentage points, and mid-p values, not corrected for
    the number of pairs. `order`: "same" or "changed" by the accuracies as they are, "tied" where
    one test set has none; "changed, significant" where in addition both test sets' Holm-corrected
    p-values are below 1 - level, so that sampling error is hardly why.

    Raises UserError as `mcnemar` does.
    """
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    shared = [name for name in original.index if name in set(new.index)]
    first, second = (mcnemar(table.loc[shared]) for table in (original, new))
    product = np.sign(first["difference"]) * np.sign(second["difference"])
    words = np.select([product > 0, product < 0], ["same", "changed"], "tied")
    sure = (first["p_holm"] < 1 - level) & (second["p_holm"] < 1 - level)
    words = np.where(sure & (product < 0), "changed, significant", words)
    return pd.DataFrame(
        {
            "a": first["a"],
            "b": first["b"],
            "original_difference": first["difference"],
            "original_p": first["p_mid"],
            "new_difference": second["difference"],
            "new_p": second["p_mid"],
            "order": words,
        }
    )


def check_correct(correct: pd.DataFrame) -> NDArray[np.bool_]:
    """(models, images) whether a model is right. Raises UserError for what is no such table."""
    repeated = correct.index[correct.index.duplicated()]
    if len(repeated):
        raise UserError(f"correct: model {repeated[0]} is there more than once")
    if len(correct) < 2:
        raise UserError(f"correct: {len(correct)} models; at least 2 are needed")
    if not correct.shape[1]:
        raise UserError("correct: no image")
    values = correct.to_numpy()
    if values.dtype != np.bool_:
        if not np.isin(values, (0, 1)).all():
            raise UserError("correct: legal are true and false (or 1 and 0) for every image")
        values = values.astype(bool)
    result: NDArray[np.bool_] = values
    return result
