"""How large a dataset view is, before its data is there: by the packed dataset or the catalog."""

from dataclasses import dataclass

from anynet_study.data import DatasetView, Variant, load_dataset, make_view, present
from anynet_study.data.builtin import BUILT_IN
from anynet_study.data.catalog import CATALOG, CatalogEntry
from anynet_study.errors import UserError


@dataclass(frozen=True)
class Size:
    """What the cost depends on, of a dataset view."""

    classes: int
    train_images: int
    test_images: int
    #: Side of the packed images in pixels.
    side: int
    #: False: the dataset is not there yet, these are the catalog's counts.
    known: bool


def size_of(base: str, variant: Variant) -> Size:
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
    train = (entry.images - entry.test_images) * share
    if variant.per_class is not None:
        train = min(train, variant.per_class * classes)
    train *= variant.fraction or 1.0
    return Size(classes, round(train), round(entry.test_images * share), entry.size, known=False)


def _classes_of(entry: CatalogEntry, variant: Variant) -> int:
    """Classes or groups before some are chosen."""
    if variant.groups is None:
        return entry.classes
    if variant.groups != "superclasses":
        return len(variant.groups)
    if not entry.superclasses:
        raise UserError(f"{entry.name} has no superclasses; list the classes of each group")
    return entry.superclasses


def _size_of_view(view: DatasetView) -> Size:
    classes, side = len(view.classes), view.size
    return Size(classes, len(view.train_index), len(view.test_index), side, known=True)
