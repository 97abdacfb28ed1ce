"""Test sets for networks trained on ImageNet or CIFAR-10: their classes are those trained on."""

import io
import pickle
import shutil
from pathlib import Path

import miniatures_shifts as miniature
import numpy as np
import pytest
from miniatures import CIFAR10, wnids, write_miniature
from reading import class_of, counts, read

from anynet_study.data import Variant, add_dataset, load_dataset, make_view
from anynet_study.errors import UserError
from anynet_study.training.evaluation import EvaluationSpec, make_evaluation_set

RANDOM = np.random.default_rng(0)


@pytest.fixture
def imagenet(data_home, tmp_path) -> None:
    """A packed ImageNet of twelve classes."""
    add_dataset("imagenet", write_miniature("imagenet", tmp_path / "mini"), size=16)


@pytest.mark.usefixtures("imagenet")
class TestImageNet:
    def test_folders_of_v2_are_numbers(self, tmp_path):
        root = miniature.imagenet_v2(tmp_path / "v2", RANDOM)
        listing = read(root)
        assert listing.train == []
        assert {
            name.split("/")[0]: wnid for name, wnid in class_of(listing, listing.test).items()
        } == {str(label): wnid for label, wnid in enumerate(wnids(12))}

    def test_v2_of_another_number_of_classes(self, tmp_path):
        root = miniature.imagenet_v2(tmp_path / "v2", RANDOM, classes=11)
        with pytest.raises(UserError, match=r"11 numbered folders, but .* has 12"):
            read(root)

    def test_v2_without_imagenet(self, tmp_path):
        root = miniature.imagenet_v2(tmp_path / "v2", RANDOM)
        with pytest.raises(
            UserError, match="there is no dataset 'other': add ImageNet first, or say with"
        ):
            read(root, classes_of="other")

    def test_v2_by_wnid(self, tmp_path):
        root = tmp_path / "imagenetv2-matched-frequency"
        listing = read(miniature.wnid_folders(root, RANDOM, list(range(12))))
        assert listing.layout == "ImageNet shift (wnid folders, test only)"

    def test_objectnet_maps_its_folders(self, tmp_path):
        wnid_of = miniature.objectnet(tmp_path, RANDOM)
        listing = read(tmp_path / "objectnet-1.0")
        found = {name.split("/")[1]: wnid for name, wnid in class_of(listing, listing.test).items()}
        assert found == wnid_of
        assert any("3 of 5 folders are classes of ImageNet" in note for note in listing.notes)
        several = "folders that are several of ImageNet's classes, the first counts: 1"
        assert several in listing.notes

    def test_objectnet_has_no_frame(self, tmp_path):
        miniature.objectnet(tmp_path, RANDOM)
        dataset = add_dataset("objectnet", tmp_path / "objectnet-1.0", size=16)
        framed = (dataset.images("test")[:] == miniature.RED).all(axis=-1)
        assert not framed.any()

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("folder_to_objectnet_label.json", "[1]"),
            ("objectnet_to_imagenet_1k.json", '{"Chair": 5}'),
            ("objectnet_to_imagenet_1k.json", '{"Chair": "no such name"}'),
            ("pytorch_to_imagenet_2012_id.json", '{"0": 99}'),
            ("pytorch_to_imagenet_2012_id.json", '{"7": 1}'),
            ("pytorch_to_imagenet_2012_id.json", '{"0": 1}'),
            ("pytorch_to_imagenet_2012_id.json", "5"),
        ],
    )
    def test_objectnet_with_other_mappings(self, tmp_path, file, text):
        miniature.objectnet(tmp_path, RANDOM)
        (tmp_path / "objectnet-1.0/mappings" / file).write_text(text)
        with pytest.raises(UserError, match="mappings"):
            read(tmp_path / "objectnet-1.0")

    def test_an_evaluation_finds_the_classes(self, tmp_path):
        root = miniature.imagenet_v2(tmp_path / "v2", RANDOM)
        add_dataset("imagenetv2", root, size=16)
        miniature.objectnet(tmp_path, RANDOM)
        add_dataset("objectnet", tmp_path / "objectnet-1.0", size=16)
        view = make_view(load_dataset("imagenet"), Variant(base="imagenet"))
        whole = make_evaluation_set(EvaluationSpec(test_set="imagenetv2"), view)
        assert whole.labels.tolist() == sorted([*range(12)] * 2, key=str)
        part = make_evaluation_set(EvaluationSpec(test_set="objectnet"), view)
        assert np.flatnonzero(part.allowed).tolist() == [0, 2, 11]
        assert sorted(part.labels.tolist()) == [0, 0, 0, 2, 2, 2, 11, 11, 11]


@pytest.mark.parametrize("name", ["imagenet-a", "imagenet-r", "sketch", "ImageNet-Sketch"])
@pytest.mark.parametrize("archived", [False, True])
def test_wnid_folders_that_are_test_sets_by_name(tmp_path, name, archived):
    path = miniature.wnid_folders(tmp_path / "in" / name, RANDOM, [1, 4, 7])
    if archived:
        path = Path(shutil.make_archive(str(tmp_path / name), "tar", tmp_path / "in", name))
    listing = read(path)
    assert listing.train == []
    assert counts(listing, listing.test) == {wnids(12)[label]: 3 for label in (1, 4, 7)}
    assert listing.ignored == 1


def test_200_wnid_folders_are_a_test_set_whatever_their_name(tmp_path):
    for wnid in wnids(200):
        (tmp_path / "x" / wnid).mkdir(parents=True)
        (tmp_path / "x" / wnid / "1.jpg").touch()
    assert read(tmp_path / "x").train == []


def test_other_wnid_folders_are_a_dataset_like_any(tmp_path):
    listing = read(miniature.wnid_folders(tmp_path / "birds", RANDOM, [1, 4]))
    assert (listing.layout, len(listing.train), listing.test) == ("class/image", 6, None)
    forced = read(tmp_path / "birds", layout="class-folders")
    assert len(forced.train) == 6


def test_ten_numbered_folders_are_not_imagenetv2(tmp_path):
    root = miniature.imagenet_v2(tmp_path / "v2", RANDOM, classes=10).rename(tmp_path / "digits")
    assert read(root).layout == "class/image"


def test_a_test_set_cannot_be_trained_on(data_home, tmp_path):
    root = miniature.wnid_folders(tmp_path / "imagenet-a", RANDOM, [1, 4])
    dataset = add_dataset("a", root, size=16)
    assert (dataset.meta.train.images, dataset.meta.test.images) == (0, 6)
    dataset.verify()
    with pytest.raises(UserError, match="'a' is a test set only"):
        make_view(dataset, Variant(base="a"))


def test_cifar10_1_is_a_test_set_of_cifar10(data_home, tmp_path):
    miniature.cifar10_1(tmp_path / "new", RANDOM)
    add_dataset("cifar10", write_miniature("cifar10", tmp_path))
    dataset = add_dataset("cifar10.1", tmp_path / "new")
    pixels = np.load(tmp_path / "new/cifar10.1_v6_data.npy")
    np.testing.assert_array_equal(dataset.images("test")[:], pixels)
    view = make_view(load_dataset("cifar10"), Variant(base="cifar10"))
    found = make_evaluation_set(EvaluationSpec(test_set="cifar10.1"), view)
    assert [view.classes[label] for label in found.labels] == CIFAR10 * 3


def test_cifar10_1_has_two_versions(tmp_path):
    miniature.cifar10_1(tmp_path / "x", RANDOM, "v4", images=40)
    miniature.cifar10_1(tmp_path / "x", RANDOM, "v6", images=30)
    assert len(read(tmp_path / "x").test) == 30
    assert len(read(tmp_path / "x", test_part="v4").test) == 40
    with pytest.raises(UserError, match="--test-part 'v5': there are v4, v6"):
        read(tmp_path / "x", test_part="v5")


def npy_of(array: np.ndarray, shape: str | None = None) -> bytes:
    """An .npy file, whose header claims another shape where one is given."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    content = buffer.getvalue()
    if shape is not None:
        true = str(array.shape).encode()
        content = content.replace(true + b", }", f"{shape}, }}".encode())
    return content


IMAGES = np.zeros((30, 32, 32, 3), np.uint8)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x02\0" + b"\xff\xff\xff\xff",
        b"\x93NUMPY\x01\0\x10\0{'descr': '|O', \n",
        npy_of(IMAGES)[:-1],
        npy_of(IMAGES) + b"\0",
        npy_of(IMAGES.astype(np.float32)),
        npy_of(IMAGES[..., :2]),
        npy_of(np.asfortranarray(IMAGES)),
        npy_of(IMAGES, "(9999999999, 32, 32, 3)"),
        npy_of(IMAGES, "(-1, 32, 32, 3)"),
    ],
    ids=lambda content: f"{len(content)} bytes",
)
def test_arrays_that_lie(tmp_path, content):
    miniature.cifar10_1(tmp_path / "x", RANDOM)
    (tmp_path / "x/cifar10.1_v6_data.npy").write_bytes(content)
    with pytest.raises(UserError, match=r"v6_data.npy: not an .npy array \(N, 32, 32, 3\)"):
        read(tmp_path / "x")


class Touch:
    """Unpickling this creates a file, were it allowed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("inside", [True, False])
def test_an_array_of_objects_runs_nothing(tmp_path, inside):
    miniature.cifar10_1(tmp_path / "x", RANDOM)
    payload = Touch(tmp_path / "owned")
    path = tmp_path / "x/cifar10.1_v6_labels.npy"
    if inside:
        np.save(path, np.array([payload], object), allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(payload))
    with pytest.raises(UserError, match=r"v6_labels.npy: not an .npy array"):
        read(tmp_path / "x")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (np.zeros(29, np.int32), "29 labels for 30 images"),
        (np.full(30, 10, np.int32), "labels 10 to 10; legal: 0 to 9"),
        (np.full(30, -1, np.int32), "labels -1 to -1"),
    ],
)
def test_labels_that_lie(tmp_path, labels, reason):
    miniature.cifar10_1(tmp_path / "x", RANDOM)
    np.save(tmp_path / "x/cifar10.1_v6_labels.npy", labels)
    with pytest.raises(UserError, match=rf"v6_labels.npy: {reason}"):
        read(tmp_path / "x")


def test_labels_that_are_missing(tmp_path):
    miniature.cifar10_1(tmp_path / "x", RANDOM)
    (tmp_path / "x/cifar10.1_v6_labels.npy").unlink()
    with pytest.raises(UserError, match=r"v6_labels.npy: the file is missing"):
        read(tmp_path / "x")
