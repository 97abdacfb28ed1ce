"""Tell how large datasets and test sets are: as they are there, or else by the catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anynet_study.core.errors import UserError, said_of
from anynet_study.data import (
    BUILT_IN,
    CATALOG,
    SEVERAL_LABELS,
    DatasetView,
    KeptDatasets,
    Variant,
    load_dataset,
    make_view,
    present,
)
from anynet_study.engine.planning.features import FurtherEvaluation, Workload
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.training import (
    EvaluationSet,
    EvaluationSpec,
    Moment,
    NotApplicableError,
    Recipe,
    at_moment,
    make_evaluation_set,
    moments,
)


@dataclass(frozen=True)
class DatasetSize:
    """The properties of a dataset view on which costs depend."""

    classes: int
    train_images: int
    test_images: int
    #: Side of the packed images in pixels.
    side: int
    #: False if the dataset is not there yet, and these are the counts of the catalog.
    known: bool
    validation_images: int = 0
    #: Whether an image can have several classes.
    multi_label: bool = False

    def workload(self, recipe: Recipe) -> Workload:
        """The work of a recipe on the view."""
        tested = self.test_images + (self.validation_images if recipe.validates else 0)
        return Workload.of(recipe, self.train_images, tested, self.side, self.classes)


def is_there(name: str) -> bool:
    """Tell whether a dataset is packed, or made on first use."""
    return name in present() or name in BUILT_IN


def dataset_size(
    variant: Variant, match: DatasetSize | None = None, kept: KeptDatasets | None = None
) -> DatasetSize:
    """The size of a view by the catalog. Parts of a union that are there count as they are.

    `match`: the size of the dataset whose number of training images the view takes. `kept`: see
    `load_dataset`.
    """
    bases = [_whole_size(base, variant, kept) for base in variant.bases]
    # A union is taken to have as many classes as its largest part: names are not known yet.
    classes = whole = max(base.classes for base in bases)
    if isinstance(variant.groups, dict):
        classes = whole = len(variant.groups)
    if variant.classes is not None:
        classes = variant.classes if isinstance(variant.classes, int) else len(variant.classes)
    if classes > whole:
        raise UserError(f"{'+'.join(variant.bases)} has {whole} classes, not {classes}")
    # No part can give more than all its classes.
    shares = [
        classes / whole if variant.groups else classes / max(classes, base.classes)
        for base in bases
    ]
    train = sum(base.train_images * share for base, share in zip(bases, shares, strict=True))
    if match is not None:
        train = min(train, match.train_images)
    if variant.per_class is not None:
        train = min(train, variant.per_class * classes)
    train *= variant.fraction or 1.0
    train = min(train, variant.images or train)
    tested = round(sum(base.test_images * part for base, part in zip(bases, shares, strict=True)))
    validated = round(train * (variant.validation or 0.0))
    several = bases[0].multi_label
    train_images = round(train) - validated
    return DatasetSize(classes, train_images, tested, bases[0].side, False, validated, several)


def _whole_size(base: str, variant: Variant, kept: KeptDatasets | None) -> DatasetSize:
    """The size of all of a dataset, before its groups and classes are chosen."""
    if base not in CATALOG or is_there(base):
        return size_of_view(make_view(load_dataset(base, kept=kept), Variant(base=base)))
    entry = CATALOG[base]
    if entry.kind == "test set":
        raise UserError(f"{base!r} is a test set only, nothing can be trained on it")
    classes = entry.classes
    if variant.groups == "superclasses":
        if not entry.superclasses:
            raise UserError(f"{base} has no superclasses; list the classes of each group")
        classes = entry.superclasses
    tested = entry.test_images
    if variant.test_share is not None:
        tested = round(entry.images * variant.test_share)
    several = base in SEVERAL_LABELS
    images = entry.images - tested
    return DatasetSize(classes, images, tested, entry.size, known=False, multi_label=several)


def size_of_view(view: DatasetView) -> DatasetSize:
    """The size of a view whose data is there."""
    return DatasetSize(
        classes=len(view.classes),
        train_images=len(view.train_index),
        test_images=len(view.test_index),
        side=view.size,
        known=True,
        validation_images=len(view.validation_index),
        multi_label=view.multi_label,
    )


def expected_evaluations(
    sweep: Sweep,
    sizes: Mapping[str, DatasetSize],
    views: Mapping[str, DatasetView],
    kept: KeptDatasets | None = None,
) -> dict[str, tuple[FurtherEvaluation, ...]]:
    """The further tests of the networks trained on each dataset, in the sweep's order.

    Exact where all the data is there; else by the catalog's counts, of test sets of the same size
    in pixels. `sizes` by the sweep's labels, and `views` of what is there; `kept`: see
    `load_dataset`. Raises UserError for a test set that is neither there nor in the catalog, and
    for an evaluation that does not fit a dataset that it names.
    """
    found: dict[str, tuple[FurtherEvaluation, ...]] = {}
    for name, spec in sweep.evaluations.items():
        for label in spec.datasets or sweep.datasets:
            bases = sweep.datasets[label].bases
            try:
                test = _expected(name, spec, bases, sizes[label], views.get(label), kept)
            except UserError as error:
                if isinstance(error, NotApplicableError) and spec.datasets is None:
                    continue
                raise said_of(f"evaluations.{name}", error) from None
            if test is not None:
                asked = moments(spec, sweep.most_epochs(label))
                found[label] = (*found.get(label, ()), *(_at(test, it) for it in asked))
    return found


def _expected(
    name: str,
    spec: EvaluationSpec,
    bases: Sequence[str],
    size: DatasetSize,
    view: DatasetView | None,
    kept: KeptDatasets | None,
) -> EvaluationSet | FurtherEvaluation | None:
    """The evaluation of networks that are trained on one dataset; None if it does not apply."""
    there = spec.test_set is None or is_there(spec.test_set)
    if view is not None and there:
        return make_evaluation_set(spec, view, kept)
    images = float(size.test_images if spec.part == "test" else size.validation_images)
    if not images:
        return None
    if spec.test_set is not None:
        if spec.test_set not in CATALOG:
            load_dataset(spec.test_set)  # raises, saying what there is and how to add it
        entry = CATALOG[spec.test_set]
        if entry.size != size.side:
            return None
        whole = max(CATALOG[base].classes if base in CATALOG else size.classes for base in bases)
        images = entry.test_images * min(1.0, size.classes / whole)
    if spec.classes is not None:
        chosen = spec.classes if isinstance(spec.classes, int) else len(spec.classes)
        if chosen > size.classes:
            return None
        images *= chosen / size.classes
    images += (spec.shots or 0) * size.classes
    transform = spec.transform or "identity"
    return FurtherEvaluation(name, max(1, round(images)), size.side, transform, size.classes)


def _at(test: EvaluationSet | FurtherEvaluation, moment: Moment) -> FurtherEvaluation:
    """Return the test, of the network that its run has at another moment."""
    if isinstance(test, EvaluationSet):
        return FurtherEvaluation.of(at_moment(test, moment))
    return replace(test, evaluation_id=f"{test.evaluation_id}{moment.suffix}", moment=moment)
