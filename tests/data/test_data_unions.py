"""Several packed datasets as one, and training sets of matched sizes."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from anynet_study.core.errors import UserError
from anynet_study.data import (
    DatasetView,
    KeptDatasets,
    PackedDataset,
    Variant,
    add_captions,
    add_dataset,
    keep_labels,
    load_dataset,
    make_view,
    union_of,
)

#: Training images of each class; one in four more is tested.
PETS = {"cat": 12, "dog": 6, "fish": 3}
ZOO = {"dog": 6, "lion": 9, "cat": 3}


def add(folder: Path, name: str, counts: dict[str, int], size: int = 8) -> PackedDataset:
    """A dataset whose images are all different: their red says the dataset, green the class."""
    for split, share in (("train", 1), ("test", 3)):
        for label, (kind, count) in enumerate(counts.items()):
            where = folder / name / split / kind
            where.mkdir(parents=True)
            for number in range(count // share):
                colour = (len(name), 40 * label, 3 * number + (split == "test"))
                Image.new("RGB", (size, size), colour).save(where / f"{number}.png")
    return add_dataset(name, folder / name, size=size)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[PackedDataset, PackedDataset]:
    folder = tmp_path_factory.mktemp("unions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYNET_DATA", str(folder / "data"))
        return add(folder, "pets", PETS), add(folder, "zoo", ZOO)


def view(pair: tuple[PackedDataset, ...], **fields: object) -> DatasetView:
    return make_view(union_of(pair), Variant(base=["pets", "zoo"], **fields))


def counts(of: DatasetView) -> dict[str, int]:
    numbers = np.bincount(of.train_labels, minlength=len(of.classes)).tolist()
    return dict(zip(of.classes, numbers, strict=True))


def test_classes_of_equal_names_become_one_in_both_splits(pair) -> None:
    union = view(pair)
    assert union.classes == ("cat", "dog", "fish", "lion")
    assert counts(union) == {"cat": 15, "dog": 12, "fish": 3, "lion": 9}
    for split, labels in (("train", union.train_labels), ("test", union.test_labels)):
        truth = [base.classes[n] for base in pair for n in base.labels(split)]
        assert [union.classes[n] for n in labels] == truth
        images = np.concatenate([base.images(split)[:] for base in pair])
        np.testing.assert_array_equal(union.images(split)[np.arange(len(images))], images)
    pixels = np.concatenate([base.images("train")[:] for base in pair]) / 255
    np.testing.assert_allclose(union.mean, pixels.mean(axis=(0, 1, 2)), rtol=1e-12)
    assert len(pickle.dumps(union)) < 20_000


@pytest.mark.parametrize("index", [0, 25, -1, slice(18, 24), [38, 0, 21, 20], [], [[1, 30]]])
def test_images_are_indexed_like_an_array(pair, index) -> None:
    joined = union_of(pair).images("train")
    whole = np.concatenate([base.images("train")[:] for base in pair])
    index = np.array(index, np.int64) if isinstance(index, list) else index
    np.testing.assert_array_equal(joined[index], whole[index])
    assert (joined.shape, joined.nbytes, len(joined)) == (whole.shape, whole.nbytes, len(whole))
    np.testing.assert_array_equal(np.stack(list(joined)), whole)


def test_groups_map_the_classes_of_each_dataset(pair) -> None:
    mapped = view(pair, groups={"big": ["zoo:cat", "lion"], "small": ["pets:cat", "dog"]})
    assert counts(mapped) == {"small": 24, "big": 12}
    # What a test set's classes are here: a base's own are what they are in the union.
    zoo, small, big = pair[1], 0, 1
    named = dict(zip(zoo.classes, mapped.numbers_of(zoo).tolist(), strict=True))
    assert named == {"cat": big, "dog": small, "lion": big}
    another = load_like(zoo, "another")
    named = dict(zip(another.classes, mapped.numbers_of(another).tolist(), strict=True))
    assert named == {"cat": -1, "dog": small, "lion": big}, "which cat is not known"


def load_like(dataset: PackedDataset, name: str) -> PackedDataset:
    return PackedDataset(dataset.folder, dataset.meta.model_copy(update={"name": name}))


def test_the_identity_is_of_the_content_of_all_and_not_of_their_names(pair) -> None:
    named = [load_like(dataset, name) for dataset, name in zip(pair, ("a", "b"), strict=True)]
    assert view(named).identity == view(pair).identity
    other = PackedDataset(
        pair[1].folder, pair[1].meta.model_copy(update={"content_hash": "0" * 64})
    )
    assert view((pair[0], other)).identity != view(pair).identity
    by_name = {"cat": ["cat"], "dog": ["dog"], "fish": ["fish"], "lion": ["lion"]}
    assert view(pair, groups=by_name).identity == view(pair).identity
    other_map = {**by_name, "cat": ["pets:cat"], "lion": ["lion", "zoo:cat"]}
    assert view(pair, groups=other_map).identity != view(pair).identity


def test_images_in_all_are_an_equal_part_of_each_and_nested(pair) -> None:
    kept = set()
    for images in (5, 6, 18, 21):
        chosen = view(pair, images=images)
        of_first = int((chosen.train_index < len(pair[0].labels("train"))).sum())
        assert (of_first, len(chosen.train_index)) == ((images + 1) // 2, images)
        assert kept < set(chosen.train_index.tolist())
        kept = set(chosen.train_index.tolist())
        assert chosen.identity["images"] == images
        assert len(chosen.test_index) == 13, "all test images are tested"
    single = make_view(pair[0], Variant(base="pets", images=7))
    assert counts(single) == {"cat": 4, "dog": 2, "fish": 1}, "in proportion"
    assert "images" not in make_view(pair[0], Variant(base="pets", images=21)).identity


def test_a_match_has_the_class_sizes_of_another(pair) -> None:
    alone = make_view(pair[1], Variant(base="zoo"))
    names = ["cat", "dog", "lion"]
    matched = make_view(union_of(pair), Variant(base=["pets", "zoo"], classes=names), like=alone)
    assert counts(matched) == ZOO
    assert matched.identity["counts"] == [3, 6, 9]
    assert (matched.train_index < 21).any(), "of both"
    assert (matched.train_index >= 21).any(), "of both"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"images": 43}, "images: 43, so 22 of 'pets', which has 21 training images"),
        ({"groups": {"a": ["cats"], "b": ["dog"]}}, "'pets\\+zoo' has no class 'cats' \\(did you"),
        ({"groups": {"a": ["cat"], "b": ["zoo:cat"]}}, "class 'zoo:cat' is in a group twice"),
        ({"groups": "superclasses"}, "'pets\\+zoo' has no superclasses"),
        ({"test_share": 0.2}, "'pets' has a test split of its own"),
    ],
)
def test_what_a_union_has_not(pair, fields, reason) -> None:
    with pytest.raises(UserError, match=reason):
        view(pair, **fields)


def test_what_cannot_be_matched(pair) -> None:
    pets, zoo = (make_view(dataset, Variant(base="x")) for dataset in pair)
    with pytest.raises(UserError, match="match: there is no class 'fish'; there are"):
        make_view(pair[0], Variant(base="pets"), like=zoo)
    with pytest.raises(UserError, match="match: 12 training images of class 'cat', but it has 3"):
        make_view(pair[1], Variant(base="zoo", classes=["cat", "dog"]), like=pets)


def test_datasets_that_are_not_alike_make_no_union(pair, data_home, tmp_path) -> None:
    with pytest.raises(UserError, match="images of 'digits' have 8 pixels, those of 'blobs' 12"):
        union_of([load_dataset("blobs"), load_dataset("digits")])
    several = PackedDataset(pair[1].folder, pair[1].meta.model_copy(update={"multi_label": True}))
    with pytest.raises(UserError, match="images of 'zoo' have several classes each"):
        union_of([pair[0], several])
    for bases in (["a"], ["a", "a"]):
        with pytest.raises(ValidationError, match="a list of 2 or more different ones"):
            Variant(base=bases)


def test_validation_images_are_of_all_datasets(pair) -> None:
    held = view(pair, validation=1 / 3)
    assert len(held.validation_index) + len(held.train_index) == 39
    assert (held.validation_index < 21).any()
    assert (held.validation_index >= 21).any()
    assert json.dumps(held.identity)


def test_captions_belong_to_training_images_and_are_kept(pair, tmp_path: Path, monkeypatch) -> None:
    pets, _ = (shutil.copytree(one.folder, tmp_path / one.name) for one in pair)
    monkeypatch.setenv("ANYNET_DATA", str(tmp_path))
    said = {"cat/0.png": ["a cat", "again"], "dog/5.png": ["a dog"], "nobody.png": ["nothing"]}
    with pytest.raises(UserError, match=r"'zoo'; they name such as 'x', its images such as 'train"):
        add_captions(load_dataset("zoo"), {"x": ["y"]})
    assert add_captions(load_dataset("pets"), {"train/cat/1.png": ["others, before"]}) == 1
    said = {f"train/{name}": texts for name, texts in said.items()}
    assert add_captions(load_dataset("pets"), said) == 2
    union = view((load_dataset("pets"), load_dataset("zoo")), classes=["cat", "lion"])
    assert [texts for texts in union.captions() if texts] == [["a cat", "again"]]
    assert len(union.captions()) == len(union.train_index)
    keep_labels(load_dataset("pets"), tmp_path / "study")
    add_captions(load_dataset("pets"), {"train/cat/0.png": ["other"]})
    keep_labels(load_dataset("pets"), tmp_path / "study")
    kept = load_dataset("pets", kept=KeptDatasets(tmp_path / "study"))
    assert [texts for texts in kept.captions() if texts] == [["other"]]
    (pets / "captions.json").write_text("[]")
    with pytest.raises(UserError, match=r"captions.json: .*it has changed since it was packed"):
        load_dataset("pets")
