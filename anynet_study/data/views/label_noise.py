"""Wrong labels, on purpose: a share of every class's training images."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.splits.ordering import seeded_order, seeded_uniform
from anynet_study.data.views.images import by_class
from anynet_study.data.views.variants import Variant

Indices = NDArray[np.int64]


def with_noise(labels: Indices, kept: Indices, classes: Sequence[str], variant: Variant) -> Indices:
    """The labels of the images at `kept`, of which a share of each class's is replaced.

    `labels` (N,) are those of all training images of the view's classes. Which are replaced, and
    by which other class, is drawn for all of them, so that it does not depend on the selection:
    of those kept the first in the class's order are replaced.
    """
    changed = labels.copy()
    is_kept = np.zeros(len(labels), bool)
    is_kept[kept] = True
    others = len(classes) - 1
    for members, name in zip(
        by_class(labels, np.bincount(labels, minlength=len(classes))), classes, strict=True
    ):
        key = (variant.noise_seed, name)
        order = members[seeded_order(len(members), "noise", *key)]
        order = order[is_kept[order]]
        wrong = order[: round(variant.label_noise * len(order))]
        draws = np.zeros(len(labels))
        draws[members] = seeded_uniform((len(members),), "noisy label", *key)
        another = (draws[wrong] * others).astype(np.int64)
        changed[wrong] = another + (another >= labels[wrong])
    return changed[kept]
