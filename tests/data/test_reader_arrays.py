"""Images and labels as arrays: .npz of MedMNIST, .mat of SVHN, idx of MNIST, .npy."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from reading import counts, read, refused
from scipy.io import savemat

from anynet_study.data import add_dataset

RANDOM = np.random.default_rng(0)


def arrays(path: Path, shape: tuple[int, ...], **changed: object) -> dict[str, np.ndarray]:
    """The file at `path`, and what it holds: 12, 4 and 6 images of three classes."""
    held = {}
    for part, count in (("train", 12), ("val", 4), ("test", 6)):
        held[f"{part}_images"] = RANDOM.integers(0, 256, (count, *shape), np.uint8)
        held[f"{part}_labels"] = (np.arange(count) % 3)[:, None].astype(np.uint8)
    held |= changed
    np.savez(path, **held)
    return held


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 3)])
def test_every_image_keeps_its_label(data_home, tmp_path, shape):
    held = arrays(tmp_path / "x.npz", shape)
    dataset = add_dataset("x", tmp_path / "x.npz", size=8)
    assert dataset.classes == ("0", "1", "2")
    for part in ("train", "test"):
        expected = held[f"{part}_images"]
        expected = expected if len(shape) == 3 else np.repeat(expected[..., None], 3, axis=-1)
        np.testing.assert_array_equal(dataset.images(part), expected)
        np.testing.assert_array_equal(dataset.labels(part), held[f"{part}_labels"].ravel())
    assert "4 images for validation not read" in dataset.meta.notes


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"train_images": np.zeros((12, 8, 8), np.float32)}, "train_images.npy float32"),
        (
            {"train_labels": np.zeros((12, 5), np.uint8)},
            r"a row of 0 is of no class \(12 of 12 images\); --no-class",
        ),
        ({"train_labels": np.full((12, 5), 2, np.uint8)}, "not 0 and 1 alone"),
        ({"train_labels": np.full(12, 0.5)}, "no whole numbers"),
        ({"train_labels": np.full(12, np.inf)}, "no whole numbers"),
        ({"test_labels": np.zeros(5, np.uint8)}, r"0 pairs.*test_labels.npy uint8 \(5,\)"),
        ({"test_labels": np.array(["a"] * 6, object)}, "not a readable array"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, changed, told):
    arrays(tmp_path / "x.npz", (8, 8), **changed)
    refused(told, tmp_path / "x.npz")


def test_validation_is_the_test_split_where_there_is_none(tmp_path):
    held = arrays(tmp_path / "x.npz", (8, 8))
    kept = {name: array for name, array in held.items() if not name.startswith("test")}
    np.savez(tmp_path / "y.npz", **kept)
    assert len(read(tmp_path / "y.npz").test) == 4


def idx(path: Path, array: np.ndarray, packed: bool) -> None:
    """The format of MNIST: two zero bytes, the type, the dimensions, big-endian sizes, the data."""
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    content = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if packed else content)


@pytest.mark.parametrize("dot", ["-idx", ".idx"])
@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_of_mnist(data_home, tmp_path, dot, packed):
    held = {}
    for part, count in (("train", 12), ("t10k", 6)):
        held[part] = RANDOM.integers(0, 256, (count, 8, 8), np.uint8)
        ending = ".gz" if packed else ""
        (tmp_path / "raw").mkdir(exist_ok=True)
        idx(tmp_path / f"raw/{part}-images{dot}3-ubyte{ending}", held[part], packed)
        idx(tmp_path / f"raw/{part}-labels{dot}1-ubyte{ending}", np.arange(count) % 3, packed)
    dataset = add_dataset("x", tmp_path / "raw", size=8)
    assert dataset.classes == ("0", "1", "2")
    for part, other in (("train", "train"), ("test", "t10k")):
        np.testing.assert_array_equal(dataset.images(part)[..., 1], held[other])
        np.testing.assert_array_equal(dataset.labels(part), np.arange(len(held[other])) % 3)


def test_an_idx_file_that_is_not_whole(tmp_path):
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        array = np.zeros((12, 8, 8) if "3" in name else 12, np.uint8)
        idx(tmp_path / name, array, packed=False)
    os.truncate(tmp_path / "train-images-idx3-ubyte", 700)
    refused("train-images-idx3-ubyte: not a readable array.*its header says", tmp_path)


@pytest.mark.parametrize("grey", [True, False])
def test_files_of_matlab(data_home, tmp_path, grey):
    """The images are the last axis; SVHN counts its classes from 1, and 10 is the digit 0."""
    held = {}
    for part, count in (("train", 20), ("test", 10), ("extra", 4)):
        shape = (8, 8, count) if grey else (8, 8, 3, count)
        held[part] = RANDOM.integers(0, 256, shape, np.uint8)
        labels = (np.arange(count) % 10 + 1)[:, None]
        (tmp_path / "x").mkdir(exist_ok=True)
        content = {"X": held[part], "y": labels, "names": np.array(["a"], object)}
        savemat(tmp_path / f"x/{part}_32x32.mat", content, do_compression=True)
    dataset = add_dataset("x", tmp_path / "x", size=8)
    assert dataset.classes == tuple(map(str, range(1, 11)))
    for part in ("train", "test"):
        expected = np.moveaxis(held[part], -1, 0)
        expected = expected[..., None] if grey else expected
        np.testing.assert_array_equal(
            dataset.images(part), np.broadcast_to(expected, (*expected.shape[:3], 3))
        )
        np.testing.assert_array_equal(dataset.labels(part), np.arange(len(expected)) % 10)
    assert any("extra_32x32.mat/X" in note for note in dataset.meta.notes)
    alone = read(tmp_path / "x/train_32x32.mat")
    assert (len(alone.train), alone.test) == (20, None)


def test_a_file_of_matlab_that_claims_more_than_it_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("anynet_study.data.readers.arrays.FREE_BYTES", 1 << 20)
    zeros = np.zeros((64, 64, 3, 300), np.uint8)
    savemat(tmp_path / "x.mat", {"X": zeros, "y": np.zeros((300, 1))}, do_compression=True)
    refused(r"x\.mat: not a readable array \(.* bytes, more than", tmp_path / "x.mat")


def test_several_classes_of_an_image(data_home, tmp_path):
    """MedMNIST's chest: a column of 0 and 1 for each class, and images without any."""
    matrix = RANDOM.integers(0, 2, (12, 4), np.uint8)
    matrix[0], matrix[1] = 0, (1, 0, 1, 0)
    held = {"train_images": RANDOM.integers(0, 256, (12, 8, 8), np.uint8), "train_labels": matrix}
    np.savez(tmp_path / "x.npz", **held)
    refused("is of no class .* --no-class NAME", tmp_path / "x.npz")
    listing = read(tmp_path / "x.npz", no_class="nothing")
    assert (listing.multi_label, listing.classes) == (True, ("0", "1", "2", "3", "nothing"))
    found = [sorted(listing.class_names(example)) for example in listing.train]
    assert found[:2] == [["nothing"], ["0", "2"]]
    there = int(matrix.any(axis=1).sum())
    assert len(read(tmp_path / "x.npz", no_class="none").train) == there


def test_arrays_in_files_of_their_own(tmp_path):
    """One array in each file, classes as texts; what is neither is named."""
    np.save(tmp_path / "Train-Images.npy", RANDOM.integers(0, 256, (6, 8, 8), np.uint8))
    np.save(tmp_path / "train-labels.npy", np.array(["cat", "dog"] * 3))
    np.save(tmp_path / "mean.npy", np.zeros((8, 8)))
    listing = read(tmp_path)
    assert counts(listing, listing.train) == {"cat": 3, "dog": 3}
    assert any("not read: mean.npy" in note for note in listing.notes)
    np.save(tmp_path / "train-fine-labels.npy", np.arange(6))
    refused("2 pairs of images and labels for train.*--ignore", tmp_path)
    assert read(tmp_path, ignore="*fine*").classes == ("cat", "dog")
