"""Further evaluations of a trained network: what is asked, of which images, among which classes.

Imports no torch; `evaluation_pass` does what is asked here.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import EvaluationKind
from anynet_study.data import (
    ClassChoice,
    DatasetView,
    KeptDatasets,
    Labels,
    PackedDataset,
    Split,
    Tested,
    load_dataset,
    of_classes,
    seeded_order,
    seeded_uniform,
)
from anynet_study.engine.training.operators import (
    DRAWS_PER_IMAGE,
    TRANSFORMS,
    TRANSFORMS_VERSION,
    TransformName,
)

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


class EvaluationSpec(BaseModel):
    """Another test of a trained network: other images, transformed images, or fewer classes.

    These combine. At least one of `test_set`, `transform`, `classes`, `shots`, `interpolate` and
    `part` is given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: A packed dataset whose test split is used instead of the run's own. Its classes are matched
    #: by name with those trained on; the others are left out, of the images and of the guesses.
    test_set: str | None = Field(None, min_length=1)
    #: The run's test images, or the images that were held out of its training for validation.
    part: Tested = "test"
    #: What is done to each test image (paper 4, appendix B.2).
    transform: TransformName | None = None
    #: How many of the trained classes, drawn with `class_seed`, or which; the network chooses
    #: among these alone (paper 5: label sets of other sizes). By default, all.
    classes: ClassChoice | None = None
    #: Of two draws with one seed, the smaller is part of the larger.
    class_seed: int = Field(0, ge=0)
    #: Few-shot: a class is the mean of the features of so many training images of it, those that
    #: the network's head is given, and an image is of the class that it is nearest to, by cosine.
    #: The images are the run's, of a `test_set` its own. Of two numbers, the fewer are part of the
    #: more. By default, classes are those of the head.
    shots: int | None = Field(None, ge=1)
    #: Networks between the weights that a run started from (0) and its final ones (1), at each of
    #: these shares: for runs that start from other weights.
    interpolate: tuple[Annotated[float, Field(ge=0, le=1)], ...] | None = Field(None, min_length=1)
    #: Also after every so many epochs, of recipes that state epochs. By default, only at the end.
    every: int | None = Field(None, ge=1)
    #: Labels of the datasets whose networks are evaluated; by default, of all where it is possible.
    datasets: tuple[str, ...] | None = Field(None, min_length=1)
    #: What the evaluation is, no part of its identity: averages of robustness are over those of the
    #: kind `shift`. By default, it follows from what is asked (`counts_as`).
    kind: EvaluationKind | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        asked = self.test_set, self.transform, self.classes, self.shots, self.interpolate
        if self.part == "test" and not any(one is not None for one in asked):
            raise ValueError(
                "an evaluation needs at least one of: test_set, transform, classes, shots, "
                "interpolate, part: validation"
            )
        if self.interpolate is not None and self.every is not None:
            raise ValueError("interpolate and every: only final weights are interpolated")
        if len(set(self.interpolate or ())) < len(self.interpolate or ()):
            raise ValueError("interpolate: each share once")
        if self.part == "validation" and self.test_set is not None:
            raise ValueError("part: validation is of the run's own dataset; leave out test_set")
        if (self.kind or "validation") != "validation" and self.part == "validation":
            raise ValueError(f"kind: {self.kind}, but part: validation can be nothing else")
        return self

    @property
    def counts_as(self) -> EvaluationKind:
        """The declared kind, or else the first kind in the order below that fits the keys.

        So an evaluation with `shots` or `classes` counts as few-shot or as a label set even if its
        images are shifted as well.
        """
        if self.kind is not None:
            return self.kind
        asked: dict[EvaluationKind, bool] = {
            "validation": self.part == "validation",
            "few-shot": self.shots is not None,
            "label set": self.classes is not None,
            "shift": self.test_set is not None,
            "transform": self.transform not in (None, "identity"),
        }
        return next((kind for kind, there in asked.items() if there), "own images")


@dataclass(frozen=True)
class Moment:
    """The moment of a run whose weights are evaluated: by default the end."""

    #: Where between the weights that the run started from (0) and the final ones (1) they are.
    share: float | None = None
    #: The number of epochs after which they are taken.
    epoch: int | None = None

    @property
    def suffix(self) -> str:
        """Return what it adds to the name of an evaluation: @0.25, or @32 after 32 epochs."""
        at = self.epoch if self.share is None else self.share
        return "" if at is None else f"@{at:g}"

    @property
    def identity(self) -> dict[str, Any]:
        """Return what it adds to the identity of an evaluation."""
        content = {"interpolate": self.share, "epoch": self.epoch}
        return {key: value for key, value in content.items() if value is not None}

    def is_had(self, epochs: int, done_before: int, starts_elsewhere: bool) -> bool:
        """Return whether a run is evaluated at this moment.

        The run ends after `epochs` epochs, of which an earlier run trained the first `done_before`;
        `starts_elsewhere`: whether it starts from the weights of another run, or of a file.
        """
        if self.epoch is not None:
            return done_before < self.epoch < epochs
        return self.share is None or starts_elsewhere


FINAL = Moment()


def moments(spec: EvaluationSpec, epochs: int) -> list[Moment]:
    """Return the moments at which `spec` evaluates runs of at most `epochs` epochs."""
    if spec.interpolate is not None:
        return [Moment(share=share) for share in spec.interpolate]
    if spec.every is None:
        return [FINAL]
    return [*(Moment(epoch=epoch) for epoch in range(spec.every, epochs, spec.every)), FINAL]


@dataclass(frozen=True)
class EvaluationSet:
    """The images that a trained network is tested on, and the classes among which it chooses."""

    dataset: PackedDataset
    #: The split of it whose images these are: training images for a validation.
    split: Split
    #: Rows of that split, ascending.
    index: Indices
    #: The class of each of these images, as the network numbers it; where images
    #: have several, (images, trained classes) of zeros and ones.
    labels: Labels
    #: (trained classes,) whether the network may choose this class.
    allowed: NDArray[np.bool_]
    transform: TransformName
    #: Images of the split that are of none of the allowed classes.
    left_out: int
    #: With the run, all that determines the result and nothing else. JSON-able.
    identity: dict[str, Any]
    #: What the evaluation is; no part of its identity.
    kind: EvaluationKind
    #: Of which network: see `Moment`.
    moment: Moment = FINAL
    #: Rows of the training split that say what the classes are, and their classes; None: the head.
    shots: tuple[Indices, Indices] | None = None

    def canonical(self) -> str:
        """The identity as JSON with sorted keys: equal identities, equal text."""
        return json.dumps(self.identity, sort_keys=True, separators=(",", ":"))

    @property
    def evaluation_id(self) -> str:
        """16 hexadecimal digits: a hash of the canonical identity."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]

    def draws(self) -> NDArray[np.float64]:
        """(images, DRAWS_PER_IMAGE) numbers in [0, 1) from which each image's transform is derived.

        They depend on the transform, the dataset's content and the image's row in it alone: with
        fewer classes the remaining images are transformed as before.
        """
        rows = int(self.index[-1]) + 1
        key = ("transform", TRANSFORMS_VERSION, self.transform, self.dataset.content_hash)
        return seeded_uniform((rows, DRAWS_PER_IMAGE), *key)[self.index]


def at_moment(evaluation_set: EvaluationSet, moment: Moment) -> EvaluationSet:
    """Return the same evaluation at another moment of the run."""
    identity = evaluation_set.identity | moment.identity
    return replace(evaluation_set, identity=identity, moment=moment)


def make_evaluation_set(
    spec: EvaluationSpec, view: DatasetView, kept: KeptDatasets | None = None
) -> EvaluationSet:
    """The test set `spec` asks for, for networks trained on `view`; `kept`: see `load_dataset`.

    NotApplicableError (a UserError) where fewer than two classes match or the images have another
    size; UserError where `spec.test_set` is not there.
    """
    dataset = view.dataset if spec.test_set is None else load_dataset(spec.test_set, kept=kept)
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
    split, index, labels = view.part(spec.part)
    if not len(index):
        raise NotApplicableError(
            f"evaluation on {dataset.name!r}: it has no validation images; state `validation: 0.1` "
            "of the dataset"
        )
    images = dataset.counts("test").images if spec.part == "test" else len(index)
    if spec.test_set is not None:  # classes are matched by name, and numbered as in `view`
        index, labels = of_classes(dataset.labels("test"), view.numbers_of(dataset))
    asked = labels[:, allowed].any(axis=1) if view.multi_label else allowed[labels]
    if not asked.any():
        raise NotApplicableError(f"evaluation on {dataset.name!r}: no test image of its classes")
    return EvaluationSet(
        dataset=dataset,
        split=split,
        index=index[asked],
        labels=labels[asked],
        allowed=allowed,
        transform=spec.transform or "identity",
        left_out=images - int(asked.sum()),
        identity=_identity(spec, dataset, tuple(np.array(view.classes)[allowed].tolist())),
        kind=spec.counts_as,
        shots=None if spec.shots is None else _shots(spec, spec.shots, view, dataset, allowed),
    )


def _shots(
    spec: EvaluationSpec, count: int, view: DatasetView, dataset: PackedDataset, allowed: Mask
) -> tuple[Indices, Indices]:
    """Return rows and classes of the training images from which classes are learned (`shots`)."""
    if view.multi_label:
        raise NotApplicableError("shots: they need one class an image, here are several")
    rows, labels = view.train_index, view.train_labels
    if spec.test_set is not None:
        rows, labels = of_classes(dataset.labels("train"), view.numbers_of(dataset))
    chosen = []
    for number in np.flatnonzero(allowed).tolist():
        members, name = np.flatnonzero(labels == number), view.classes[number]
        if len(members) < count:
            raise NotApplicableError(
                f"shots: {count}, but class {name!r} of {dataset.name!r} has {len(members)} "
                "training images"
            )
        chosen.append(members[seeded_order(len(members), "shots", name)[:count]])
    places = np.sort(np.concatenate(chosen))
    return rows[places], labels[places]


@dataclass(frozen=True)
class EvaluationSets:
    """One evaluation on all the datasets of a study."""

    #: By the label of the dataset that the networks were trained on.
    sets: dict[str, EvaluationSet]
    #: Why the evaluation makes no sense for the others, by their label.
    skipped: dict[str, str]


def evaluation_sets(
    spec: EvaluationSpec, views: Mapping[str, DatasetView], kept: KeptDatasets | None = None
) -> EvaluationSets:
    """Resolve `spec` for the datasets it names, or else for all for which it makes sense.

    `views` by label; `kept`: see `load_dataset`. UserError where a dataset that it names, or every
    dataset, does not fit.
    """
    sets, skipped = {}, {}
    for label in spec.datasets or views:
        try:
            sets[label] = make_evaluation_set(spec, views[label], kept)
        except NotApplicableError as error:
            if spec.datasets is not None:
                raise
            skipped[label] = str(error)
    if not sets:
        label, reason = next(iter(skipped.items()))
        raise UserError(f"no dataset fits this evaluation; {label}: {reason}")
    return EvaluationSets(sets, skipped)


def _identity(
    spec: EvaluationSpec, dataset: PackedDataset, classes: tuple[str, ...]
) -> dict[str, Any]:
    identity: dict[str, Any] = {"content_hash": dataset.content_hash}
    if spec.part == "validation":
        identity["part"] = spec.part
    if set(classes) != set(dataset.classes):
        identity["classes"] = sorted(classes)
    if spec.shots is not None:
        identity["shots"] = spec.shots
    if spec.transform not in (None, "identity"):
        named = {"name": spec.transform, "version": TRANSFORMS_VERSION}
        identity["transform"] = {**named, **TRANSFORMS[spec.transform]}
    return identity


class NotApplicableError(UserError):
    """The evaluation makes no sense for networks trained on this dataset."""


def allowed_classes(spec: EvaluationSpec, view: DatasetView, dataset: PackedDataset) -> Mask:
    """(trained classes,) those that `dataset` has, by name, and that `spec` asks for.

    NotApplicableError where fewer than two are shared or one that is asked for is missing.
    """
    shared = np.ones(len(view.classes), bool)
    if spec.test_set is not None:
        shared = np.isin(np.arange(len(view.classes)), view.numbers_of(dataset))
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
