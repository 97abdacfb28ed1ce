"""Which further evaluations a sweep's runs will have, before its data is there."""

from collections.abc import Mapping

from anynet_study.data import DatasetView, load_dataset, make_view, present
from anynet_study.data.builtin import BUILT_IN
from anynet_study.data.catalog import CATALOG
from anynet_study.dispatch.cost.further import FurtherTest
from anynet_study.dispatch.cost.sizes import Size
from anynet_study.errors import UserError
from anynet_study.sweep import Sweep
from anynet_study.training.evaluation import EvaluationSpec, NotApplicableError, make_evaluation_set


def foreseen_tests(sweep: Sweep, sizes: Mapping[str, Size]) -> dict[str, tuple[FurtherTest, ...]]:
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
    found: dict[str, tuple[FurtherTest, ...]] = {}
    for name, spec in sweep.evaluations.items():
        for label in spec.datasets or sweep.datasets:
            base = sweep.datasets[label].base
            try:
                test = _foreseen(name, spec, base, sizes[label], views.get(label))
            except UserError as error:
                if isinstance(error, NotApplicableError) and spec.datasets is None:
                    continue
                raise UserError(f"evaluations.{name}: {error}") from None
            if test is not None:
                found[label] = (*found.get(label, ()), test)
    return found


def _foreseen(
    name: str, spec: EvaluationSpec, base: str, size: Size, view: DatasetView | None
) -> FurtherTest | None:
    """The evaluation of networks trained on one dataset; None where it will not be applied."""
    there = spec.test_set is None or spec.test_set in present() or spec.test_set in BUILT_IN
    if view is not None and there:
        return FurtherTest.of(make_evaluation_set(spec, view))
    images = float(size.test_images)
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
    return FurtherTest(name, max(1, round(images)), size.side, transform, size.classes)
