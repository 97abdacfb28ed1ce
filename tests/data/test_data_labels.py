"""Labels of one class an image and of several: from a listing to the arrays and back."""

import csv

import numpy as np
import pytest

from anynet_study.data import Variant, make_view
from anynet_study.data.packed.dataset import PackedDataset
from anynet_study.data.packed.meta import read_meta
from anynet_study.data.packing.meta_file import Origin
from anynet_study.data.packing.packing import pack
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.errors import UserError

CLASSES = ("nucleus", "membrane", "cytosol")


def examples(split: str, *classes: tuple[int, ...]) -> list[Example]:
    """One flat image for each tuple of its classes, the first of which is its label."""
    return [
        Example(f"{split}/{n}", of[0], pixels=np.full((4, 4, 3), 10 * n, np.uint8), also=of[1:])
        for n, of in enumerate(classes)
    ]


def listing(*classes: tuple[int, ...], multi_label: bool = True) -> Listing:
    train, test = examples("train", *classes), examples("test", (0, 1), (2,))
    return Listing("made", "", CLASSES, train, test, multi_label=multi_label)


def test_several_labels_are_a_matrix(tmp_path):
    pack(None, listing((0,), (1, 2), (2, 0, 1)), Origin("cells", "made"), 4, tmp_path / "cells")
    dataset = PackedDataset.open(tmp_path / "cells")
    assert dataset.multi_label
    assert dataset.labels("train").tolist() == [[1, 0, 0], [0, 1, 1], [1, 1, 1]]
    assert dataset.labels("train").dtype == np.uint8
    assert dataset.counts("train").per_class == (2, 2, 2)
    assert dataset.counts("train").images == 3
    dataset.verify()
    with (tmp_path / "cells" / "split.csv").open(newline="") as file:
        assert [row["class"] for row in csv.DictReader(file)][1] == "membrane|cytosol"


def test_a_class_that_only_others_have_beside_theirs_is_there(tmp_path):
    with pytest.raises(UserError, match="class 'cytosol' has no readable image in the train"):
        pack(None, listing((0,), (1,)), Origin("cells", "made"), 4, tmp_path / "few")
    pack(None, listing((0,), (1, 2)), Origin("cells", "made"), 4, tmp_path / "cells")


def test_meta_data_of_before_there_were_several_labels_can_be_read(tmp_path):
    pack(None, listing((0,), (1,), (2,)), Origin("cells", "made"), 4, tmp_path / "cells")
    meta = read_meta(tmp_path / "cells" / "meta.json")
    old = meta.model_dump_json(exclude={"multi_label", "superclasses"})
    (tmp_path / "meta.json").write_text(old)
    read = read_meta(tmp_path / "meta.json")
    assert (read.multi_label, read.superclasses) == (False, {})


@pytest.fixture
def cells(tmp_path) -> PackedDataset:
    made = listing((0,), (1, 2), (2, 0, 1), (2,), (1,), (0, 2))
    pack(None, made, Origin("cells", "made"), 4, tmp_path / "cells")
    return PackedDataset.open(tmp_path / "cells")


def variant(**fields: object) -> Variant:
    return Variant(base="cells", **fields)


def test_views_of_several_labels_have_their_columns(cells):
    view = make_view(cells, variant(classes=["nucleus", "cytosol"]))
    assert view.multi_label
    assert view.train_index.tolist() == [0, 1, 2, 3, 5]  # the image of membrane alone is left out
    assert view.train_labels.tolist() == [[1, 0], [0, 1], [1, 1], [0, 1], [1, 1]]
    assert view.test_labels.tolist() == [[1, 0], [0, 1]]


def test_an_image_of_any_of_its_classes_has_the_group(cells):
    groups = {"outside": ["membrane", "cytosol"], "inside": ["nucleus"]}
    view = make_view(cells, variant(groups=groups))
    assert view.classes == ("inside", "outside")
    assert view.train_labels.tolist() == [[1, 0], [0, 1], [1, 1], [0, 1], [0, 1], [1, 1]]


@pytest.mark.parametrize("fields", [{"balanced": True}, {"per_class": 1}, {"label_noise": 0.1}])
def test_what_needs_one_class_an_image_is_refused(cells, fields):
    with pytest.raises(UserError, match="the images of this dataset have several classes each"):
        make_view(cells, variant(**fields))


def test_a_share_of_all_images_is_nested(cells):
    third, half = (make_view(cells, variant(fraction=f)).train_index for f in (1 / 3, 0.5))
    assert len(third) == 2
    assert len(half) == 3
    assert set(third) <= set(half)
