"""Variants are views: the right images, labels and statistics, identified by content."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniatures import write_miniature
from pydantic import ValidationError
from typer.testing import CliRunner

from anynet_study.cli.data import data_app, parse_variant
from anynet_study.core.errors import UserError
from anynet_study.data import (
    DatasetView,
    KeptDatasets,
    PackedDataset,
    Variant,
    add_dataset,
    keep_labels,
    load_dataset,
    make_view,
)
from anynet_study.data.packed.manifest import read_manifest


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
    both = make_view(mlc, variant(balanced="both"))
    np.testing.assert_array_equal(both.train_index, view.train_index)
    tested = np.array(mlc.counts("test").per_class)
    assert sorted(tested)[-1] > sorted(tested)[-2]
    kept = np.bincount(both.test_labels)
    np.testing.assert_array_equal(kept, np.minimum(tested, sorted(tested)[-2]))
    np.testing.assert_array_equal(
        mlc.labels("test")[both.test_index],
        [mlc.classes.index(both.classes[n]) for n in both.test_labels],
    )
    assert both.identity == {"content_hash": mlc.content_hash, "balanced": "both"}


@pytest.mark.parametrize("folds", [2, 3])
def test_validation_folds_are_disjoint_and_all_images(digits, folds):
    whole = make_view(digits, Variant(base="digits", label_noise=0.2))
    views = [
        make_view(digits, Variant(base="digits", validation=1 / folds, fold=k, label_noise=0.2))
        for k in range(folds)
    ]
    assert len({json.dumps(view.identity) for view in views}) == folds
    rows = np.concatenate([view.validation_index for view in views])
    np.testing.assert_array_equal(np.sort(rows), whole.train_index)
    for view in views:
        trained = np.concatenate([view.train_index, view.validation_index])
        np.testing.assert_array_equal(np.sort(trained), whole.train_index)
        truth = digits.labels("train")
        np.testing.assert_array_equal(view.validation_labels, truth[view.validation_index])
        held = np.bincount(view.validation_labels)
        np.testing.assert_allclose(held, np.bincount(truth) / folds, atol=1)
        np.testing.assert_array_equal(view.test_index, whole.test_index)


#: Classes of HAM10000's miniature of which there are several lesions in training.
MORE_LESIONS = ("nv", "mel", "bkl")


def test_groups_are_on_one_side_of_a_validation(data_home, tmp_path):
    """The lesions of HAM10000, of which there are several pictures."""
    dataset = add_dataset("ham10000", write_miniature("ham10000", tmp_path), size=8)
    assert dataset.meta.grouped
    rows = read_manifest(dataset.folder / "split.csv")
    groups = [row.group for row in rows if row.split == "train"]
    assert len(set(groups)) < len(groups)
    several = {"base": "ham10000", "classes": MORE_LESIONS}
    whole = make_view(dataset, Variant(**several))
    held: list[str] = []
    for fold in range(3):
        view = make_view(dataset, Variant(**several, validation="1/3", fold=fold))
        sides = [{groups[n] for n in of} for of in (view.train_index, view.validation_index)]
        assert not sides[0] & sides[1]
        held += sides[1]
    assert sorted(held) == sorted({groups[n] for n in whole.train_index})
    with pytest.raises(UserError, match="leaves no image to class 'df'"):
        make_view(dataset, Variant(base="ham10000", validation="1/3"))  # one lesion
    keep_labels(dataset, tmp_path / "kept")
    kept = load_dataset("ham10000", kept=KeptDatasets(tmp_path / "kept"))
    kept = make_view(kept, Variant(**several, validation="1/3"))
    assert kept.dataset.folder.parent == tmp_path / "kept"


def test_the_share_that_was_held_out_is_checked_and_no_part_of_the_identity(mlc):
    assert make_view(mlc, variant(test_share=0.2)).identity == make_view(mlc, variant()).identity


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


@pytest.mark.parametrize(
    "fields", [{"classes": 9}, {"fraction": 1.0}, {"classes": 9, "class_seed": 4}]
)
def test_what_changes_nothing_is_not_part_of_the_identity(mlc, fields):
    assert make_view(mlc, variant(**fields)).identity == {"content_hash": mlc.content_hash}


@pytest.mark.slow
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
        ({"classes": ["CCA", "Porite"]}, r"no class 'Porite' \(did you mean 'Porites'"),
        ({"classes": ["CCA", "zebra"]}, "no class 'zebra'"),
        ({"test_share": 0.1}, "0.1, but 'mlc2008' was packed with 0.2; pack it again: .* --force"),
        ({"validation": 0.9}, "validation: 0.9 leaves no image to class 'Acropora'"),
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
        {"classes": ["CCA"]},
        {"per_class": 0},
        {"test_share": 1},
        {"fold": 1},
        {"validation": 0.3, "fold": 3},
        {"balanced": "test"},
        {"fraction": 1.1},
        {"clases": 2},
        {"groups": {"one": ["1"]}},
        {"groups": {"a": ["1", "2"], "b": ["2"]}},
        {"groups": "coarse"},
        {"fraction": "1/0"},
        {"label_noise": 1.5},
    ],
)
def test_variants_that_make_no_sense(fields):
    with pytest.raises(ValidationError):
        variant(**fields)


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


@pytest.mark.slow
@given(few=st.floats(0, 1), more=st.floats(0, 1))
def test_noise_is_nested(digits, few, more):
    small, large = (view(digits, label_noise=share) for share in sorted((few, more)))
    wrong = small.train_labels != digits.labels("train")
    np.testing.assert_array_equal(small.train_labels[wrong], large.train_labels[wrong])


def test_a_group_of_a_class_that_is_not_there(digits):
    with pytest.raises(UserError, match="groups: 'digits' has no class 'ten'"):
        view(digits, groups={"a": ["1"], "b": ["ten"]})


DIGITS = "ce699ea32829a0eb32d3024a7069ab225105bff16c3a799a619d0b1a82b4906e"
#: Fields of a variant, what its identity says beside the content, digest of rows and labels.
GOLDEN = [
    ({}, {}, "e86881270f5164f1"),
    ({"classes": 5, "class_seed": 1}, {"classes": ["0", "1", "3", "5", "6"]}, "58921b1d09ede354"),
    ({"classes": ["3", "1", "7"]}, {"classes": ["1", "3", "7"]}, "87cb8b7f446a09e9"),
    ({"balanced": True}, {}, "e86881270f5164f1"),
    ({"per_class": 20}, {"per_class": 20}, "142321de3d050a43"),
    ({"fraction": 0.25}, {"fraction": 0.25}, "ec4c53756ee7662e"),
    (
        {"classes": 4, "balanced": True, "per_class": 30, "fraction": 0.5},
        {"classes": ["0", "1", "5", "9"], "balanced": True, "per_class": 30, "fraction": 0.5},
        "82ac2203592e29fc",
    ),
]


@pytest.mark.parametrize(("fields", "said", "digest"), GOLDEN)
def test_variants_of_the_first_version(data_home, fields, said, digest):
    view = make_view(load_dataset("digits"), Variant(base="digits", **fields))
    rows = hashlib.sha256()
    for array in (view.train_index, view.train_labels, view.test_index, view.test_labels):
        rows.update(array.astype("<i8").tobytes())
    assert json.dumps(view.identity, sort_keys=True) == json.dumps(
        {"content_hash": DIGITS, **said}, sort_keys=True
    )
    assert rows.hexdigest()[:16] == digest


RUNNER = CliRunner()


def info(*arguments: str) -> str:
    result = RUNNER.invoke(data_app, ["info", "digits", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_classes_and_counts_are_those_of_the_view(data_home):
    said = json.loads(info("--variant", "classes=5,class_seed=1,fraction=0.5", "--json"))
    view = make_view(
        load_dataset("digits"), Variant(base="digits", classes=5, class_seed=1, fraction=0.5)
    )
    assert [row["class"] for row in said["classes"]] == list(view.classes)
    assert sum(row["train"] for row in said["classes"]) == said["train_images"]
    assert said["train_images"] == len(view.train_index)
    assert said["identity"] == view.identity
    assert said["variant"] == {"base": "digits", "classes": 5, "class_seed": 1, "fraction": 0.5}


def test_groups_are_shown_with_their_members_and_noise_with_its_count(data_home):
    shown = info("--variant", "groups={low: [2, 0], high: [8, 9]},label_noise=0.5")
    assert "variant of digits: 2 classes, " in shown
    assert "labels changed on purpose: " in shown
    (low,) = (line for line in shown.splitlines() if line.strip().startswith("low"))
    assert "0, 2" in low
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("clases=5", r"unknown key `clases` \(did you mean 'classes'"),
        ("classes", "write it as key.path=value"),
        ("groups={a: [0]}", "legal: superclasses, or 2 groups or more .*such as"),
        ("base=blobs", "`base`: that is digits here"),
        ("classes=1", "greater than or equal to 2"),
        ("", "write it as key.path=value"),
        ("classes=[0", "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_one_line(text, reason):
    with pytest.raises(UserError, match=reason) as caught:
        parse_variant("digits", text)
    assert str(caught.value).startswith("--variant: ")
    assert "\n" not in str(caught.value)
