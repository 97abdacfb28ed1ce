"""Images that a dataset has more than once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.digest import image_digest
from anynet_study.data.packed.images import Images
from anynet_study.data.packed.meta import Duplicates, Split


def count_duplicates(
    moments: Mapping[Split, NDArray[np.int64]], images: Mapping[Split, Images]
) -> Duplicates:
    """Count images whose pixels are equal to those of an earlier one.

    Only images with equal `moments` (N, 2, 3) are looked at.
    """
    train, test = first_equals(moments, images)
    return Duplicates(
        test_in_train=int(np.isin(test, train).sum()),
        within_train=len(train) - len(np.unique(train)),
        within_test=len(test) - len(np.unique(test)),
    )


def first_equals(
    moments: Mapping[Split, NDArray[np.int64]], images: Mapping[Split, Images]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each image of train and test the number of the first that equals it.

    Numbers are rows of train, and behind them rows of test.
    """
    trained = len(moments["train"])
    keys = _mixed(np.concatenate([moments["train"], moments["test"]]).reshape(-1, 6))
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    first = np.arange(len(keys))
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[inverse] > 1).tolist():
        image = images["train"][row] if row < trained else images["test"][row - trained]
        digest = image_digest(np.ascontiguousarray(image).data)
        first[row] = seen.setdefault(digest, row)
    return first[:trained], first[trained:]


def _mixed(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A 64-bit key of each row, equal for equal rows."""
    keys = np.zeros(len(rows), np.uint64)
    for column in rows.T.astype(np.uint64):
        keys = (keys ^ column) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys
