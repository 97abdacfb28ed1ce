"""What is priced before its data are there: the sizes that the catalog knows."""

import pytest

from anynet_study.data import Variant
from anynet_study.data.catalog import CATALOG
from anynet_study.dispatch.cost.sizes import size_of
from anynet_study.errors import UserError


@pytest.fixture(autouse=True)
def _no_data(data_home):
    """An empty data directory."""


@pytest.mark.parametrize("name", [n for n, entry in CATALOG.items() if entry.kind != "test set"])
def test_all_that_can_be_trained_on(name):
    entry, size = CATALOG[name], size_of(name, Variant(base=name))
    assert (size.classes, size.side, size.known) == (entry.classes, entry.size, False)
    assert size.train_images + size.test_images == entry.images


@pytest.mark.parametrize(
    ("variant", "classes", "train"),
    [
        ({"groups": "superclasses"}, 20, 50_000),
        ({"groups": "superclasses", "classes": 5}, 5, 12_500),
        ({"groups": {"a": ["x"], "b": ["y"]}}, 2, 50_000),
        ({"classes": 10, "per_class": 50}, 10, 500),
        ({"classes": ["apple", "bear"], "fraction": "1/8"}, 2, 125),
    ],
)
def test_variants_of_cifar100(variant, classes, train):
    size = size_of("cifar100", Variant.model_validate({"base": "cifar100", **variant}))
    assert (size.classes, size.train_images) == (classes, train)


@pytest.mark.parametrize(
    ("name", "variant", "reason"),
    [
        ("imagenetv2", {}, "'imagenetv2' is a test set only"),
        ("mine", {}, "add it with: anynet-study data add mine"),
        ("cifar100", {"groups": "superclasses", "classes": 21}, "has 20 classes, not 21"),
        ("aptos", {"groups": "superclasses"}, "aptos has no superclasses"),
    ],
)
def test_what_cannot_be_priced(name, variant, reason):
    with pytest.raises(UserError, match=reason):
        size_of(name, Variant.model_validate({"base": name, **variant}))
