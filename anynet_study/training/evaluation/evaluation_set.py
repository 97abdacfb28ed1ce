"""The images of a further evaluation, numbered as the trained network numbers its classes."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data import DatasetView, PackedDataset, load_dataset
from anynet_study.data.packed.dataset import Labels
from anynet_study.data.seeded import seeded_uniform
from anynet_study.data.views import of_classes
from anynet_study.errors import UserError
from anynet_study.training.evaluation.class_choice import (
    Indices,
    NotApplicableError,
    allowed_classes,
)
from anynet_study.training.evaluation.spec import EvaluationSpec
from anynet_study.training.evaluation.transforms.catalog import (
    DRAWS,
    PARAMETERS,
    VERSION,
    TransformName,
)


@dataclass(frozen=True)
class EvaluationSet:
    """What a trained network is tested on, and among which classes it chooses."""

    #: Its test split is used.
    dataset: PackedDataset
    #: Rows of that split, ascending.
    index: Indices
    #: The class of each of these images, as the network numbers it; of several an image (images,
    #: trained classes) of zeros and ones.
    labels: Labels
    #: (trained classes,) whether the network may choose this class.
    allowed: NDArray[np.bool_]
    transform: TransformName
    #: Images of the split that are of none of the allowed classes.
    left_out: int
    #: With the run, all that determines the result and nothing else. JSON-able.
    identity: dict[str, Any]

    def canonical(self) -> str:
        """The identity as JSON with sorted keys: equal identities, equal text."""
        return json.dumps(self.identity, sort_keys=True, separators=(",", ":"))

    @property
    def evaluation_id(self) -> str:
        """16 hexadecimal digits: a hash of the canonical identity."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]

    def draws(self) -> NDArray[np.float64]:
        """(images, DRAWS) numbers in [0, 1) from which each image's transform is derived.

        They depend on the transform, the dataset's content and the image's row in it alone: with
        fewer classes the remaining images are transformed as before.
        """
        rows = int(self.index[-1]) + 1
        key = ("transform", VERSION, self.transform, self.dataset.content_hash)
        return seeded_uniform((rows, DRAWS), *key)[self.index]


def make_evaluation_set(spec: EvaluationSpec, view: DatasetView) -> EvaluationSet:
    """The test set `spec` asks for, for networks trained on `view`.

    NotApplicableError (a UserError) where fewer than two classes match or the images have another
    size; UserError where `spec.test_set` is not there.
    """
    dataset = view.dataset if spec.test_set is None else load_dataset(spec.test_set)
    if dataset.multi_label != view.multi_label:
        raise NotApplicableError(
            f"evaluation on {dataset.name!r}: its images have "
            f"{'several classes' if dataset.multi_label else 'one class'} each, those trained on "
            "do not"
        )
    allowed = allowed_classes(spec, view, dataset)
    if dataset.size != view.size:
        raise NotApplicableError(
            f"evaluation on {dataset.name!r}: its images have {dataset.size} pixels, those trained "
            f"on {view.size}; pack it again with: anynet-study data add {dataset.name} "
            f"--size {view.size}"
        )
    index, labels = view.test_index, view.test_labels
    if spec.test_set is not None:
        index, labels = _matched(view, dataset)
    kept = labels[:, allowed].any(axis=1) if view.multi_label else allowed[labels]
    if not kept.any():
        raise NotApplicableError(f"evaluation on {dataset.name!r}: no test image of its classes")
    return EvaluationSet(
        dataset=dataset,
        index=index[kept],
        labels=labels[kept],
        allowed=allowed,
        transform=spec.transform or "identity",
        left_out=dataset.counts("test").images - int(kept.sum()),
        identity=_identity(spec, dataset, tuple(np.array(view.classes)[allowed].tolist())),
    )


@dataclass(frozen=True)
class EvaluationSets:
    """One evaluation on all the datasets of a study."""

    #: By the label of the dataset that the networks were trained on.
    sets: dict[str, EvaluationSet]
    #: Why the evaluation makes no sense for the others, by their label.
    skipped: dict[str, str]


def evaluation_sets(spec: EvaluationSpec, views: Mapping[str, DatasetView]) -> EvaluationSets:
    """Resolve `spec` for the datasets it names, or else for all for which it makes sense.

    `views` by label. UserError where a dataset that it names, or every dataset, does not fit.
    """
    sets, skipped = {}, {}
    for label in spec.datasets or views:
        try:
            sets[label] = make_evaluation_set(spec, views[label])
        except NotApplicableError as error:
            if spec.datasets is not None:
                raise
            skipped[label] = str(error)
    if not sets:
        label, reason = next(iter(skipped.items()))
        raise UserError(f"no dataset fits this evaluation; {label}: {reason}")
    return EvaluationSets(sets, skipped)


def _matched(view: DatasetView, dataset: PackedDataset) -> tuple[Indices, Labels]:
    """Test images of trained classes, matched by name, and these classes as `view` numbers them."""
    return of_classes(dataset.labels("test"), view.numbers_of(dataset.classes))


def _identity(
    spec: EvaluationSpec, dataset: PackedDataset, classes: tuple[str, ...]
) -> dict[str, Any]:
    identity: dict[str, Any] = {"content_hash": dataset.content_hash}
    if set(classes) != set(dataset.classes):
        identity["classes"] = sorted(classes)
    if spec.transform not in (None, "identity"):
        parameters = dict(PARAMETERS[spec.transform])
        identity["transform"] = {"name": spec.transform, "version": VERSION, **parameters}
    return identity
