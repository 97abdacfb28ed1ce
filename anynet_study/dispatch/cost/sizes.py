"""How large datasets and test sets are before their data is there: by the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass

from anynet_study.data import (
    BUILT_IN,
    CATALOG,
    CatalogEntry,
    DatasetView,
    Variant,
    load_dataset,
    make_view,
    present,
)
from anynet_study.dispatch.cost.features import FurtherEvaluation, Workload
from anynet_study.errors import UserError
from anynet_study.sweep import Sweep
from anynet_study.training import EvaluationSpec, NotApplicableError, Recipe, make_evaluation_set


@dataclass(frozen=True)
class DatasetSize:
    """What the cost depends on, of a dataset view."""

    classes: int
    train_images: int
    test_images: int
    #: Side of the packed images in pixels.
    side: int
    #: False: the dataset is not there yet, these are the catalog's counts.
    known: bool
    validation_images: int = 0

    def workload(self, recipe: Recipe) -> Workload:
        """The work of a recipe on the view."""
        tested = self.test_images + (self.validation_images if recipe.validates else 0)
        return Workload.of(recipe, self.train_images, tested, self.side, self.classes)


def dataset_size(base: str, variant: Variant) -> DatasetSize:
    """The size of a view: exact if its dataset is there or built in, else by the catalog."""
    if base in present() or base in BUILT_IN:
        return _size_of_view(make_view(load_dataset(base), variant))
    if base not in CATALOG:
        load_dataset(base)  # raises, saying what there is and how to add it
    entry = CATALOG[base]
    if entry.kind == "test set":
        raise UserError(f"{base!r} is a test set only, nothing can be trained on it")
    classes = whole = _classes_of(entry, variant)
    if variant.classes is not None:
        chosen = variant.classes
        classes = chosen if isinstance(chosen, int) else len(chosen)
    if classes > whole:
        raise UserError(f"{base} has {whole} classes, not {classes}")
    share = classes / whole
    test_images = entry.test_images
    if variant.test_share is not None:
        test_images = round(entry.images * variant.test_share)
    train = (entry.images - test_images) * share
    if variant.per_class is not None:
        train = min(train, variant.per_class * classes)
    train *= variant.fraction or 1.0
    tested = round(test_images * share)
    validated = round(train * (variant.validation or 0.0))
    return DatasetSize(classes, round(train) - validated, tested, entry.size, False, validated)


def _classes_of(entry: CatalogEntry, variant: Variant) -> int:
    """Classes or groups before some are chosen."""
    if variant.groups is None:
        return entry.classes
    if variant.groups != "superclasses":
        return len(variant.groups)
    if not entry.superclasses:
        raise UserError(f"{entry.name} has no superclasses; list the classes of each group")
    return entry.superclasses


def _size_of_view(view: DatasetView) -> DatasetSize:
    return DatasetSize(
        classes=len(view.classes),
        train_images=len(view.train_index),
        test_images=len(view.test_index),
        side=view.size,
        known=True,
        validation_images=len(view.validation_index),
    )


def expected_evaluations(
    sweep: Sweep, sizes: Mapping[str, DatasetSize]
) -> dict[str, tuple[FurtherEvaluation, ...]]:
    """The further tests of the networks trained on each dataset, in the sweep's order.

    Exact where all the data is there; else by the catalog's counts, of test sets of the same size
    in pixels. `sizes` by the sweep's labels. Raises UserError for a test set that is neither there
    nor in the catalog, and for an evaluation that does not fit a dataset that it names.
    """
    views = {
        label: make_view(load_dataset(entry.base), entry.variant)
        for label, entry in sweep.datasets.items()
        if sweep.evaluations and sizes[label].known
    }
    found: dict[str, tuple[FurtherEvaluation, ...]] = {}
    for name, spec in sweep.evaluations.items():
        for label in spec.datasets or sweep.datasets:
            base = sweep.datasets[label].base
            try:
                test = _expected(name, spec, base, sizes[label], views.get(label))
            except UserError as error:
                if isinstance(error, NotApplicableError) and spec.datasets is None:
                    continue
                raise UserError(f"evaluations.{name}: {error}") from None
            if test is not None:
                found[label] = (*found.get(label, ()), test)
    return found


def _expected(
    name: str, spec: EvaluationSpec, base: str, size: DatasetSize, view: DatasetView | None
) -> FurtherEvaluation | None:
    """The evaluation of networks trained on one dataset; None where it will not be applied."""
    there = spec.test_set is None or spec.test_set in present() or spec.test_set in BUILT_IN
    if view is not None and there:
        return FurtherEvaluation.of(make_evaluation_set(spec, view))
    images = float(size.test_images if spec.part == "test" else size.validation_images)
    if not images:
        return None
    if spec.test_set is not None:
        if spec.test_set not in CATALOG:
            load_dataset(spec.test_set)  # raises, saying what there is and how to add it
        entry = CATALOG[spec.test_set]
        if entry.size != size.side:
            return None
        whole = CATALOG[base].classes if base in CATALOG else size.classes
        images = entry.test_images * min(1.0, size.classes / whole)
    if spec.classes is not None:
        chosen = spec.classes if isinstance(spec.classes, int) else len(spec.classes)
        if chosen > size.classes:
            return None
        images *= chosen / size.classes
    transform = spec.transform or "identity"
    return FurtherEvaluation(name, max(1, round(images)), size.side, transform, size.classes)
