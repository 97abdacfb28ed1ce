"""Superclasses and wrong labels: views whose classes or labels are not the dataset's own."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anynet_study.data import DatasetView, PackedDataset, Variant, load_dataset, make_view
from anynet_study.errors import UserError

GROUPS = {"round": ["9", "0", "6", "8"], "straight": ["7", "1", "4"]}


@pytest.fixture(scope="module")
def digits(tmp_path_factory) -> PackedDataset:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(tmp_path_factory.mktemp("data")))
        return load_dataset("digits")


def view(dataset: PackedDataset, **fields: object) -> DatasetView:
    return make_view(dataset, Variant(base="digits", **fields))


def test_groups_are_classes_in_both_splits(digits):
    grouped = view(digits, groups=GROUPS)
    assert grouped.classes == ("round", "straight")
    for split in ("train", "test"):
        truth = digits.labels(split)
        wanted = np.isin(truth, [0, 1, 4, 6, 7, 8, 9])
        np.testing.assert_array_equal(getattr(grouped, f"{split}_index"), np.flatnonzero(wanted))
        straight = np.isin(truth[wanted], [1, 4, 7])
        np.testing.assert_array_equal(getattr(grouped, f"{split}_labels"), straight)
    assert grouped.identity["groups"] == {
        "round": ["0", "6", "8", "9"],
        "straight": ["1", "4", "7"],
    }


def test_groups_may_be_written_in_any_order(digits):
    reverse = {name: members[::-1] for name, members in reversed(GROUPS.items())}
    one, two = view(digits, groups=GROUPS), view(digits, groups=reverse)
    assert json.dumps(one.identity) == json.dumps(two.identity)
    np.testing.assert_array_equal(one.train_labels, two.train_labels)


def test_groups_of_one_class_are_that_choice_of_classes(digits):
    alone = view(digits, groups={"7": [7], "1": [1]})
    assert alone.identity == view(digits, classes=["1", "7"]).identity


def test_classes_are_chosen_among_the_groups(digits):
    groups = GROUPS | {"bent": ["2", "3", "5"]}
    chosen = view(digits, groups=groups, classes=2, class_seed=3)
    assert len(chosen.classes) == 2
    assert set(chosen.identity["groups"]) == set(chosen.classes)
    assert chosen.identity == view(digits, groups=groups, classes=list(chosen.classes)).identity
    with pytest.raises(UserError, match="no class '7'"):
        view(digits, groups=groups, classes=["7", "bent"])


def test_the_superclasses_that_a_dataset_has(digits):
    meta = digits.meta.model_copy(update={"superclasses": {k: tuple(v) for k, v in GROUPS.items()}})
    known = dataclasses.replace(digits, meta=meta)
    assert view(known, groups="superclasses").identity == view(digits, groups=GROUPS).identity
    with pytest.raises(UserError, match="'digits' has no superclasses of its own; list"):
        view(digits, groups="superclasses")


@given(
    share=st.floats(0.05, 1),
    seed=st.integers(0, 5),
    fields=st.sampled_from([{}, {"classes": 4}, {"fraction": 0.5}, {"groups": GROUPS}]),
)
def test_noise_changes_its_share_of_every_class(digits, share, seed, fields):
    clean, noisy = (
        view(digits, **fields),
        view(digits, label_noise=share, noise_seed=seed, **fields),
    )
    changed = noisy.train_labels != clean.train_labels
    counts = np.bincount(clean.train_labels)
    wrong = np.bincount(clean.train_labels[changed], minlength=len(counts))
    np.testing.assert_array_equal(wrong, [round(share * count) for count in counts.tolist()])
    assert noisy.train_labels.min() >= 0
    assert noisy.train_labels.max() < len(clean.classes)
    np.testing.assert_array_equal(noisy.train_index, clean.train_index)
    np.testing.assert_array_equal(noisy.test_labels, clean.test_labels)
    expected = clean.identity | {"label_noise": share, "noise_seed": seed}
    assert noisy.identity == (expected if changed.any() else clean.identity)


def test_other_classes_are_equally_likely(digits):
    noisy = view(digits, label_noise=1.0)
    pairs = np.zeros((10, 10))
    np.add.at(pairs, (digits.labels("train"), noisy.train_labels), 1)
    assert (np.diag(pairs) == 0).all()
    expected = pairs.sum(axis=1, keepdims=True) / 9 * (1 - np.eye(10))
    statistic = ((pairs - expected) ** 2 / np.where(expected, expected, 1)).sum()
    assert statistic < 125  # of 80 degrees of freedom: one in a thousand is above


@given(few=st.floats(0, 1), more=st.floats(0, 1))
def test_noise_is_nested(digits, few, more):
    small, large = (view(digits, label_noise=share) for share in sorted((few, more)))
    wrong = small.train_labels != digits.labels("train")
    np.testing.assert_array_equal(small.train_labels[wrong], large.train_labels[wrong])


def test_noise_of_another_seed_is_another(digits):
    labels = {tuple(view(digits, label_noise=0.3, noise_seed=s).train_labels) for s in range(3)}
    assert len(labels) == 3


@pytest.mark.parametrize(
    "fields",
    [
        {"groups": {"one": ["1"]}},
        {"groups": {"a": ["1", "2"], "b": ["2"]}},
        {"groups": {"a": ["1"], "b": []}},
        {"groups": "coarse"},
        {"groups": {"a": "cat", "b": "dog"}},
        {"groups": 3},
        {"label_noise": True},
        {"fraction": "1/0"},
        {"fraction": "9/8"},
        {"label_noise": 1.5},
        {"label_noise": -0.1},
        {"noise_seed": -1},
    ],
)
def test_variants_that_make_no_sense(fields):
    with pytest.raises(ValidationError):
        Variant(base="digits", **fields)


def test_a_group_of_a_class_that_is_not_there(digits):
    with pytest.raises(UserError, match="groups: 'digits' has no class 'ten'"):
        view(digits, groups={"a": ["1"], "b": ["ten"]})
