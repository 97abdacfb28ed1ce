"""Variants are views: the right images, labels and statistics, identified by content."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniatures import write_miniature
from pydantic import ValidationError

from anynet_study.data import PackedDataset, Variant, add_dataset, make_view
from anynet_study.errors import UserError


@pytest.fixture(scope="module")
def mlc(tmp_path_factory) -> PackedDataset:
    """Nine classes of 4 to 24 training images."""
    folder = tmp_path_factory.mktemp("variants")
    source = write_miniature("mlc2008", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(folder / "data"))
        return add_dataset("mlc2008", source, size=8)


def variant(**fields: object) -> Variant:
    return Variant(base="mlc2008", **fields)


def test_without_selection_everything(mlc):
    view = make_view(mlc, variant())
    assert view.classes == mlc.classes
    for split in ("train", "test"):
        index, labels = getattr(view, f"{split}_index"), getattr(view, f"{split}_labels")
        np.testing.assert_array_equal(index, np.arange(mlc.counts(split).images))
        np.testing.assert_array_equal(labels, mlc.labels(split))
    np.testing.assert_array_equal(view.mean, mlc.statistics()[0])
    assert view.identity == {"content_hash": mlc.content_hash}
    assert view.size == 8
    assert view.images("train").shape == (78, 8, 8, 3)


@given(count=st.integers(2, 9), seed=st.integers(0, 20))
def test_class_subsets_are_relabelled_in_both_splits(mlc, count, seed):
    view = make_view(mlc, variant(classes=count, class_seed=seed))
    assert len(view.classes) == count
    assert list(view.classes) == [name for name in mlc.classes if name in view.classes]
    for split in ("train", "test"):
        index, labels = getattr(view, f"{split}_index"), getattr(view, f"{split}_labels")
        names = [mlc.classes[label] for label in mlc.labels(split)]
        assert [names[row] for row in index] == [view.classes[label] for label in labels]
        assert len(index) == sum(name in view.classes for name in names)
        assert labels.dtype == index.dtype == np.int64
        assert (np.diff(index) > 0).all()
    pixels = mlc.images("train")[view.train_index] / 255
    np.testing.assert_allclose(view.mean, pixels.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(view.std, pixels.std(axis=(0, 1, 2)), rtol=1e-10)


@given(few=st.integers(2, 9), more=st.integers(2, 9), seed=st.integers(0, 20))
def test_class_subsets_are_nested(mlc, few, more, seed):
    small, large = (
        make_view(mlc, variant(classes=count, class_seed=seed)) for count in sorted((few, more))
    )
    assert set(small.classes) <= set(large.classes)
    assert set(small.train_index) <= set(large.train_index)
    assert set(small.test_index) <= set(large.test_index)


def test_class_seeds_differ(mlc):
    chosen = {make_view(mlc, variant(classes=3, class_seed=seed)).classes for seed in range(20)}
    assert len(chosen) > 10


def test_a_listed_subset_is_the_drawn_one_whatever_its_order(mlc):
    drawn = make_view(mlc, variant(classes=3))
    listed = make_view(mlc, variant(classes=list(reversed(drawn.classes))))
    assert listed.identity == drawn.identity
    np.testing.assert_array_equal(listed.train_labels, drawn.train_labels)
    assert drawn.identity["classes"] == list(drawn.classes)


def test_balanced_caps_the_largest_class_at_the_second(mlc):
    view = make_view(mlc, variant(balanced=True))
    full = np.array(mlc.counts("train").per_class)
    counts = np.bincount(view.train_labels)
    assert sorted(full)[-1] > sorted(full)[-2]
    np.testing.assert_array_equal(counts, np.minimum(full, sorted(full)[-2]))
    assert len(view.test_index) == mlc.counts("test").images
    assert view.identity == {"content_hash": mlc.content_hash, "balanced": True}


@given(few=st.integers(1, 4), more=st.integers(1, 4))
def test_per_class_is_exact_and_nested(mlc, few, more):
    small, large = (make_view(mlc, variant(per_class=n)) for n in sorted((few, more)))
    assert set(np.bincount(small.train_labels)) == {min(few, more)}
    assert set(small.train_index) <= set(large.train_index)
    assert len(small.test_index) == mlc.counts("test").images


@given(few=st.floats(0.01, 1), more=st.floats(0.01, 1))
def test_fractions_are_stratified_and_nested(mlc, few, more):
    small, large = (make_view(mlc, variant(fraction=f)) for f in sorted((few, more)))
    full = np.array(mlc.counts("train").per_class)
    counts = np.bincount(small.train_labels, minlength=9)
    assert (counts >= 1).all()
    assert (abs(counts - min(few, more) * full) <= 1).all()
    assert set(small.train_index) <= set(large.train_index)


def test_images_of_a_class_do_not_depend_on_the_other_classes(mlc):
    alone = make_view(mlc, variant(classes=3, per_class=2))
    together = make_view(mlc, variant(per_class=2))
    assert set(alone.train_index) <= set(together.train_index)


def test_selections_combine(mlc):
    view = make_view(mlc, variant(classes=["CCA", "Sand"], balanced=True, fraction=0.5))
    assert np.bincount(view.train_labels).tolist() == [4, 4]
    assert view.identity == {
        "content_hash": mlc.content_hash,
        "classes": ["CCA", "Sand"],
        "balanced": True,
        "fraction": 0.5,
    }


@pytest.mark.parametrize(
    "fields", [{"classes": 9}, {"fraction": 1.0}, {"classes": 9, "class_seed": 4}]
)
def test_what_changes_nothing_is_not_part_of_the_identity(mlc, fields):
    assert make_view(mlc, variant(**fields)).identity == {"content_hash": mlc.content_hash}


@given(
    st.builds(
        variant,
        classes=st.one_of(st.none(), st.integers(2, 9)),
        class_seed=st.integers(0, 3),
        balanced=st.booleans(),
        per_class=st.one_of(st.none(), st.integers(1, 4)),
        fraction=st.one_of(st.none(), st.floats(0.1, 1)),
    )
)
def test_views_are_deterministic_and_equal_identities_are_equal_data(mlc, chosen):
    one, two = (
        make_view(mlc, chosen),
        make_view(mlc, Variant(**json.loads(chosen.model_dump_json()))),
    )
    assert one.identity == two.identity == json.loads(json.dumps(one.identity))
    np.testing.assert_array_equal(one.train_index, two.train_index)
    rebuilt = {key: value for key, value in one.identity.items() if key != "content_hash"}
    again = make_view(mlc, variant(**rebuilt))
    np.testing.assert_array_equal(one.train_index, again.train_index)
    np.testing.assert_array_equal(one.test_index, again.test_index)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"classes": 10}, "classes: 10, but 'mlc2008' has 9"),
        ({"classes": ["CCA", "Porite"]}, "no class 'Porite', did you mean 'Porites'"),
        ({"classes": ["CCA", "zebra"]}, "no class 'zebra'"),
        ({"per_class": 5}, "per_class: 5, but class 'Acropora' has 4 training images"),
    ],
)
def test_more_than_there_is(mlc, fields, reason):
    with pytest.raises(UserError, match=reason) as caught:
        make_view(mlc, variant(**fields))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"classes": 1},
        {"classes": []},
        {"classes": ["CCA"]},
        {"classes": ["CCA", "CCA"]},
        {"classes": True},
        {"per_class": 0},
        {"fraction": 0},
        {"fraction": 1.1},
        {"class_seed": -1},
        {"clases": 2},
    ],
)
def test_variants_that_make_no_sense(fields):
    with pytest.raises(ValidationError):
        variant(**fields)


def test_class_names_may_look_like_numbers():
    assert variant(classes=[0, 7]).classes == ("0", "7")
    assert variant(classes=2).classes == 2


def test_views_hold_no_images(mlc, tmp_path: Path):
    import pickle

    view = make_view(mlc, variant())
    assert len(pickle.dumps(view)) < 20_000
