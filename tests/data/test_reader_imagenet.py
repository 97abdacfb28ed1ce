"""ImageNet from tars and from Kaggle; HAM10000 and Powerline; ImageNet's test sets."""

import csv
import io
import pickle
import shutil
import struct
import tarfile
from collections import defaultdict
from pathlib import Path

import miniatures_shifts as miniature
import numpy as np
import pytest
import scipy.io
from miniatures import CIFAR10, HAM, save, wnids, write_miniature
from miniatures_study import imagenet_tars, meta_mat
from reading import class_of, counts, read, refused

from anynet_study.core.errors import UserError
from anynet_study.data import Choices, Variant, add_dataset, load_dataset, make_view
from anynet_study.engine.training.evaluation import EvaluationSpec, make_evaluation_set

RANDOM = np.random.default_rng(0)
LAYOUT = "ImageNet (tars and development kit)"


@pytest.fixture
def tars(tmp_path) -> tuple[Path, dict[str, str]]:
    """The folder of the archives, and the wnid of each validation image."""
    (tmp_path / "ilsvrc").mkdir()
    return tmp_path / "ilsvrc", imagenet_tars(tmp_path / "ilsvrc", RANDOM)


def extract(folder: Path, name: str, target: str) -> None:
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder / target, filter="data")
    (folder / name).unlink()


def validation(folder: Path) -> dict[str, str]:
    listing = read(folder, "imagenet")
    assert listing.layout == LAYOUT
    assert counts(listing, listing.train) == dict.fromkeys(wnids(5), 4)
    return {Path(name).stem: wnid for name, wnid in class_of(listing, listing.test).items()}


@pytest.mark.slow
def test_labels_are_those_of_the_kit_not_the_order_of_the_wnids(tars):
    folder, truth = tars
    assert validation(folder) == truth


@pytest.mark.slow
def test_packed_from_tars_as_from_folders(tars, data_home):
    folder, _ = tars
    packed = add_dataset("tars", folder, size=16, choices=Choices(layout="imagenet-devkit"))
    for name, target in (("img_train", "train"), ("img_val", "val"), ("devkit_t12", ".")):
        suffix = "tar.gz" if name == "devkit_t12" else "tar"
        extract(folder, f"ILSVRC2012_{name}.{suffix}", target)
    for wnid in wnids(5):
        extract(folder / "train", f"{wnid}.tar", wnid)
    again = add_dataset("folders", folder, size=16, choices=Choices(layout="imagenet-devkit"))
    assert again.content_hash == packed.content_hash


def test_without_the_kit(tars):
    folder, _ = tars
    (folder / "ILSVRC2012_devkit_t12.tar.gz").unlink()
    refused(r"ILSVRC2012_validation_ground_truth.txt; the labels", folder, "imagenet")


def test_a_training_tar_alone_is_not_a_dataset_with_a_split_of_its_own(tars):
    """Its validation images are the test split, not a part of its training images."""
    folder, _ = tars
    for name in ("ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"):
        (folder / name).unlink()
    refused(r"no ILSVRC2012_img_val.tar", folder, "imagenet")


def replace_kit(folder: Path, truth: bytes | None, meta: bytes | None) -> None:
    extract(folder, "ILSVRC2012_devkit_t12.tar.gz", ".")
    data = folder / "ILSVRC2012_devkit_t12" / "data"
    if truth is not None:
        (data / "ILSVRC2012_validation_ground_truth.txt").write_bytes(truth)
    if meta is not None:
        (data / "meta.mat").write_bytes(meta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        (b"1\n" * 9, "image ILSVRC2012_val_00000010 is in .*, but not listed"),
        (b"0\n" * 10, "'0' is no leaf"),
        (b"6\n" * 10, "'6' is no leaf"),  # a class with children
        (b"x\n" * 10, "'x' is no leaf"),
    ],
)
def test_labels_that_are_none(tars, truth, reason):
    folder, _ = tars
    replace_kit(folder, truth, None)
    refused(rf"ground_truth.txt: .*{reason}", folder, "imagenet")


def other_table() -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"synsets": np.eye(3)})
    return buffer.getvalue()


def element(kind: int, content: bytes) -> bytes:
    """A data element of a .mat file."""
    return struct.pack("<II", kind, len(content)) + content


def cells(shape: tuple[int, int], content: bytes, name: bytes = b"") -> bytes:
    """A cell array as a .mat file has it."""
    kind = element(6, struct.pack("<II", 1, 0))
    return element(14, kind + element(5, struct.pack("<ii", *shape)) + element(1, name) + content)


def hostile_table(content: bytes) -> bytes:
    """A .mat file of a cell `synsets`, with content."""
    head = b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return head + cells((1, 1), content, b"synsets\0")


def deep_cells(depth: int) -> bytes:
    """Cells in cells, as many as that."""
    around = cells((1, 1), b"")[8:]
    size = len(around) + 8
    starts = [element(14, b"")[:4] + struct.pack("<I", size * n - 8) for n in range(depth, 0, -1)]
    return b"".join(start + around for start in starts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "meta",
    [
        b"",
        b"hello" * 100,
        meta_mat({"n00000001": 1})[:-20],
        other_table(),
        hostile_table(cells((40_000, 40_000), b"")),
        hostile_table(deep_cells(50_000)),
    ],
    ids=["empty", "text", "truncated", "another table", "huge", "deep"],
)
def test_a_kit_that_lies(tars, meta):
    folder, _ = tars
    replace_kit(folder, None, meta)
    refused(r"meta.mat: not the kit's table of classes", folder, "imagenet")


def test_a_stray_folder_in_train(tars):
    folder, _ = tars
    extract(folder, "ILSVRC2012_devkit_t12.tar.gz", ".")
    extract(folder, "ILSVRC2012_img_val.tar", "val")
    (folder / "ILSVRC2012_img_train.tar").unlink()
    for wnid in wnids(5):
        save(folder / "train" / wnid / "1.JPEG", RANDOM, 0)
    save(folder / "train" / "other" / "1.JPEG", RANDOM, 0)
    refused("other: not named by a wnid", folder, "imagenet")


def test_kaggle_labels_come_from_the_table(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    listing = read(source, "imagenet")
    with (source / "LOC_val_solution.csv").open() as file:
        truth = {row["ImageId"]: row["PredictionString"][:9] for row in csv.DictReader(file)}
    assert listing.test is not None
    assert {Path(e.name).stem: listing.classes[e.label] for e in listing.test} == truth


def test_kaggle_with_its_table_inside(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    labels = class_of(read(source, "imagenet"), read(source, "imagenet").test)
    (source / "LOC_val_solution.csv").rename(source / "ILSVRC/LOC_val_solution.csv")
    found = read(source / "ILSVRC", "imagenet")
    assert {
        f"ILSVRC/{name}": label for name, label in class_of(found, found.test).items()
    } == labels


def test_kaggle_with_its_archive_beside_the_table(tmp_path):
    source = write_miniature("imagenet_kaggle", tmp_path)
    archive = str(source / "imagenet_object_localization_patched2019")
    expected = counts(read(source, "imagenet"), read(source, "imagenet").test)
    shutil.make_archive(archive, "gztar", source, "ILSVRC")
    shutil.rmtree(source / "ILSVRC")
    listing = read(source, "imagenet")
    assert listing.layout == "ImageNet (Kaggle)"
    assert counts(listing, listing.test) == expected


@pytest.mark.parametrize("form", ["csv", "tab", "bare", "quoted"])
def test_ham10000_lesions_are_groups(tmp_path, form):
    source = write_miniature("ham10000", tmp_path)
    table = source / "HAM10000_metadata.csv"
    if form == "tab":
        table.write_text(table.read_text().replace(",", "\t"))
        table.rename(table.with_suffix(".tab"))
    elif form == "bare":
        table.rename(table.with_suffix(""))
    elif form == "quoted":
        lines = table.read_text().split()
        table.write_text("\r\n".join(",".join(f'"{v}"' for v in x.split(",")) for x in lines))
    listing = read(source, "ham10000")
    assert counts(listing, listing.train) == HAM
    labels = defaultdict(set)
    for example in listing.train:
        labels[example.group].add(example.label)
    assert all(len(found) == 1 for found in labels.values())
    assert len(labels) < len(listing.train)


@pytest.fixture
def imagenet(data_home, tmp_path) -> None:
    """A packed ImageNet of twelve classes."""
    add_dataset("imagenet", write_miniature("imagenet", tmp_path / "mini"), size=16)


@pytest.mark.usefixtures("imagenet")
class TestImageNet:
    def test_folders_of_v2_are_numbers(self, tmp_path):
        root = miniature.imagenet_v2(tmp_path / "v2", RANDOM)
        listing = read(root, "imagenetv2")
        assert listing.train == []
        assert {
            name.split("/")[0]: wnid for name, wnid in class_of(listing, listing.test).items()
        } == {str(label): wnid for label, wnid in enumerate(wnids(12))}

    def test_v2_of_another_number_of_classes(self, tmp_path):
        root = miniature.imagenet_v2(tmp_path / "v2", RANDOM, classes=11)
        refused(r"11 numbered folders, but .* has 12", root, "imagenetv2")

    def test_objectnet_maps_its_folders(self, tmp_path):
        wnid_of = miniature.objectnet(tmp_path, RANDOM)
        listing = read(tmp_path / "objectnet-1.0", "objectnet")
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
            ("objectnet_to_imagenet_1k.json", '{"Chair": "no such name"}'),
            ("pytorch_to_imagenet_2012_id.json", '{"0": 99}'),
        ],
    )
    def test_objectnet_with_other_mappings(self, tmp_path, file, text):
        miniature.objectnet(tmp_path, RANDOM)
        (tmp_path / "objectnet-1.0/mappings" / file).write_text(text)
        refused("mappings", tmp_path / "objectnet-1.0", "objectnet")

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
    listing = read(path, "imagenet-a")
    assert listing.train == []
    assert counts(listing, listing.test) == {wnids(12)[label]: 3 for label in (1, 4, 7)}
    assert listing.ignored == 1


def test_a_test_set_cannot_be_trained_on(data_home, tmp_path):
    root = miniature.wnid_folders(tmp_path / "imagenet-a", RANDOM, [1, 4])
    dataset = add_dataset("imagenet-a", root, size=16)
    assert (dataset.meta.train.images, dataset.meta.test.images) == (0, 6)
    dataset.verify()
    with pytest.raises(UserError, match="'imagenet-a' is a test set only"):
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
    assert len(read(tmp_path / "x", "cifar10.1").test) == 30
    assert len(read(tmp_path / "x", "cifar10.1", test_part="v4").test) == 40
    refused("--test-part 'v5': there are v4, v6", tmp_path / "x", "cifar10.1", test_part="v5")


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
        npy_of(IMAGES.astype(np.float32)),
        npy_of(IMAGES[..., :2]),
        npy_of(IMAGES, "(9999999999, 32, 32, 3)"),
        npy_of(IMAGES, "(-1, 32, 32, 3)"),
    ],
    ids=lambda content: f"{len(content)} bytes",
)
def test_arrays_that_lie(tmp_path, content):
    miniature.cifar10_1(tmp_path / "x", RANDOM)
    (tmp_path / "x/cifar10.1_v6_data.npy").write_bytes(content)
    refused(r"v6_data.npy: not an .npy array \(N, 32, 32, 3\)", tmp_path / "x", "cifar10.1")


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
    refused(r"v6_labels.npy: not an .npy array", tmp_path / "x", "cifar10.1")
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
    refused(rf"v6_labels.npy: {reason}", tmp_path / "x", "cifar10.1")
