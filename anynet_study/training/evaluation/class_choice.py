"""Which of its classes a trained network may choose in a further evaluation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anynet_study.data import DatasetView, PackedDataset
from anynet_study.data.seeded import seeded_order
from anynet_study.errors import UserError
from anynet_study.training.evaluation.spec import EvaluationSpec

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


class NotApplicableError(UserError):
    """The evaluation makes no sense for networks trained on this dataset."""


def allowed_classes(spec: EvaluationSpec, view: DatasetView, dataset: PackedDataset) -> Mask:
    """(trained classes,) those that `dataset` has, by name, and that `spec` asks for.

    NotApplicableError where fewer than two are shared or one that is asked for is missing.
    """
    shared = np.ones(len(view.classes), bool)
    if spec.test_set is not None:
        shared = np.isin(np.arange(len(view.classes)), view.numbers_of(dataset.classes))
    if shared.sum() < 2:
        raise NotApplicableError(
            f"evaluation on {dataset.name!r}: at least 2 of its classes must be among those "
            f"trained on, {shared.sum()} are; it has {_some(dataset.classes)}; trained on were "
            f"{_some(view.classes)}"
        )
    if spec.classes is None:
        return shared
    if isinstance(spec.classes, int):
        return _drawn(spec.classes, spec.class_seed, shared, dataset)
    return _listed(spec.classes, view, shared)


def _drawn(count: int, seed: int, shared: Mask, dataset: PackedDataset) -> Mask:
    """The first `count` in the seeded order of all trained classes that are shared.

    So a subset on a shifted test set is the one on the run's own, where all its classes match.
    """
    if count > shared.sum():
        raise NotApplicableError(
            f"evaluation with {count} classes: {shared.sum()} of {dataset.name!r} were trained on"
        )
    order = seeded_order(len(shared), "classes", seed)
    chosen = np.zeros_like(shared)
    chosen[order[shared[order]][:count]] = True
    return chosen


def _listed(names: Sequence[str], view: DatasetView, shared: Mask) -> Mask:
    legal = [name for name, there in zip(view.classes, shared, strict=True) if there]
    for name in names:
        if name not in legal:
            raise NotApplicableError(
                f"evaluation with class {name!r}: it must be trained on and in the test set; "
                f"there are {_some(legal)}"
            )
    return np.isin(view.classes, names)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
