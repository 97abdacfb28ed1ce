"""Splits of our own making: stratified, whole groups, a function of seed and names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.data.readers.listing import Example
from anynet_study.data.seeded import seeded_order, seeded_uniform
from anynet_study.data.splits import hold_out, hold_out_mixed, limit
from anynet_study.errors import UserError

CLASSES = ("a", "b", "c")


@st.composite
def grouped_examples(draw):
    """Examples of three classes with two groups or more each, every group of one class."""
    examples = []
    for label in range(3):
        for group in range(draw(st.integers(2, 12))):
            examples += [
                Example(f"{group}/{label}/{number}", label, f"{label}-{group}")
                for number in range(draw(st.integers(1, 4)))
            ]
    return sorted(examples, key=lambda example: example.name)


@given(grouped_examples(), st.floats(0.05, 0.9), st.integers(0, 5))
def test_groups_are_whole_and_shares_kept(examples, share, seed):
    train, test = hold_out(examples, CLASSES, share, seed)
    assert sorted(train + test, key=lambda e: e.name) == examples
    assert not {e.group for e in train} & {e.group for e in test}
    for label in range(3):
        groups = [
            sum(e.group == g for e in examples)
            for g in {e.group for e in examples if e.label == label}
        ]
        held = sum(e.label == label for e in test)
        assert 0 < held < sum(groups)
        # Never further off than the one group that could not be divided.
        assert abs(held - share * sum(groups)) <= max(groups)


@st.composite
def mixed_counts(draw):
    """(groups, classes) images: every class in two groups at least."""
    groups = draw(st.integers(4, 30))
    cells = st.lists(st.integers(0, 9), min_size=groups, max_size=groups)
    counts = np.array([draw(cells) for _ in range(3)]).T
    counts[:2] += 1
    return counts


@given(mixed_counts(), st.floats(0.1, 0.5), st.integers(0, 3))
def test_groups_of_several_classes_are_whole_and_every_class_is_on_both_sides(counts, share, seed):
    examples = [
        Example(f"{group:02d}/{label}/{number}", label, f"g{group:02d}")
        for group, row in enumerate(counts)
        for label, count in enumerate(row)
        for number in range(count)
    ]
    train, test = hold_out(examples, CLASSES, share, seed)
    assert sorted(train + test, key=lambda e: e.name) == examples
    assert not {e.group for e in train} & {e.group for e in test}
    assert {e.label for e in train} == {e.label for e in test} == {0, 1, 2}


@pytest.mark.parametrize("seed", range(3))
def test_shares_of_many_mixed_groups_are_near(seed):
    """200 photos with 50 points each of five classes, from common to rare, and uneven by photo."""
    random = np.random.default_rng(seed)
    counts = np.stack(
        [random.multinomial(50, random.dirichlet([4, 2, 1, 0.5, 0.1])) for _ in range(200)]
    )
    order = random.permutation(200).tolist()
    held = hold_out_mixed(counts, tuple("abcde"), 0.2, order)
    shares = counts[held].sum(axis=0) / counts.sum(axis=0)
    np.testing.assert_allclose(shares, 0.2, atol=0.04)


def test_a_class_in_one_group_cannot_be_on_both_sides():
    counts = np.array([[3, 1], [3, 0], [2, 0]])
    with pytest.raises(UserError, match="class 'b' is in one group of images only"):
        hold_out_mixed(counts, ("a", "b"), 0.2, [0, 1, 2])


@given(st.integers(2, 60), st.floats(0.05, 0.9), st.integers(0, 3))
def test_without_groups_the_share_is_exact(count, share, seed):
    examples = [Example(f"{n:03d}", n % 2) for n in range(2 * count)]
    _, test = hold_out(examples, ("a", "b"), share, seed)
    for label in range(2):
        held = sum(e.label == label for e in test)
        assert abs(held - share * count) <= 0.5 + 1e-9 or held in (1, count - 1)


def test_another_seed_another_split():
    examples = [Example(f"{n:03d}", n % 2) for n in range(100)]
    assert hold_out(examples, ("a", "b"), 0.2, 0) == hold_out(examples, ("a", "b"), 0.2, 0)
    assert hold_out(examples, ("a", "b"), 0.2, 0) != hold_out(examples, ("a", "b"), 0.2, 1)


def test_a_class_of_one_image_cannot_be_split():
    examples = [Example("1", 0), Example("2", 0), Example("3", 1)]
    with pytest.raises(UserError, match="class 'b' has too few images"):
        hold_out(examples, ("a", "b"), 0.2, 0)


def test_a_class_that_only_goes_with_rarer_ones_needs_no_images_of_its_own():
    examples = [Example(f"{n:02d}", n % 2, also=(2,)) for n in range(20)]
    train, test = hold_out(examples, CLASSES, 0.2, 0)
    assert (len(train), len(test)) == (16, 4)


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 3))
def test_smaller_limits_are_part_of_larger_ones(few, more, seed):
    examples = [Example(f"{n:03d}", n % 3) for n in range(90)]
    small = limit(examples, CLASSES, min(few, more), None, seed)
    large = limit(examples, CLASSES, max(few, more), None, seed)
    assert set(small) <= set(large)
    assert len(large) == 3 * min(30, max(few, more))
    assert small == sorted(small, key=lambda example: example.name)


def test_a_fraction_leaves_one_image_a_class_at_least():
    examples = [Example(f"{n:03d}", n % 3) for n in range(90)]
    assert len(limit(examples, CLASSES, None, 0.1, 0)) == 9
    assert len(limit(examples, CLASSES, None, 1e-6, 0)) == 3


def test_seeded_numbers_are_the_same_for_ever():
    assert seeded_order(8, "key", 1).tolist() == [2, 0, 3, 5, 6, 4, 1, 7]
    assert seeded_uniform((2,), "key", 1).tolist() == [0.38914604040568035, 0.7138006183622981]


@given(st.integers(0, 200), st.text(max_size=5))
def test_seeded_order_is_a_permutation(count, key):
    assert sorted(seeded_order(count, key)) == list(range(count))


def test_seeded_uniform_is_uniform():
    sample = seeded_uniform((100, 100), "uniform")
    assert sample.shape == (100, 100)
    assert 0 <= sample.min() < sample.max() < 1
    counts = np.histogram(sample, bins=10, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 30
