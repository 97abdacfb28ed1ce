"""CIFAR in both forms: the same images, and nothing that a hostile pickle asks for."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from miniatures import binary_to_python, dump, picture, write_miniature
from reading import read, refused

from anynet_study.data.readers import cifar, safe_files


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_both_forms_of_cifar_are_the_same_dataset(tmp_path, name):
    binary = write_miniature(name, tmp_path)
    one, other = (
        read(it, "cifar10") for it in (binary, binary_to_python(binary, tmp_path / "python"))
    )
    assert other.layout == "CIFAR (python)"
    assert one.classes == other.classes
    for split in ("train", "test"):
        for a, b in zip(getattr(one, split), getattr(other, split), strict=True):
            assert (a.name, a.label) == (b.name, b.label)
            np.testing.assert_array_equal(a.pixels, b.pixels)


def test_cifar_planes_become_pixels(tmp_path):
    binary = write_miniature("cifar10", tmp_path)
    image = picture(np.random.default_rng(5), 0, 32, 32)
    record = bytes([7]) + image.transpose(2, 0, 1).tobytes()
    (binary / "test_batch.bin").write_bytes(record)
    test = read(binary, "cifar10").test
    assert test is not None
    assert test[0].label == 7
    np.testing.assert_array_equal(test[0].pixels, image)


class Touch:
    """Unpickling this creates a file, were it allowed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def python_cifar(tmp_path: Path) -> Path:
    return binary_to_python(write_miniature("cifar10", tmp_path), tmp_path / "python")


def test_a_pickle_with_a_payload_runs_nothing(tmp_path):
    source = python_cifar(tmp_path)
    with (source / "data_batch_2").open("wb") as file:
        pickle.dump({b"data": Touch(tmp_path / "owned")}, file)
    refused(r"data_batch_2: not a CIFAR pickle \(asks for", source, "cifar10")
    assert not (tmp_path / "owned").exists()


def test_a_pickle_cannot_allocate_what_it_does_not_hold(tmp_path):
    """numpy.ndarray((1 << 40,)) in few bytes: the stand-in only remembers the shape."""
    source = python_cifar(tmp_path)
    payload = (
        b"\x80\x02}U\x04datacnumpy\nndarray\n\x8a\x06"
        + (1 << 40).to_bytes(6, "little")
        + b"\x85\x85Rs."
    )
    (source / "test_batch").write_bytes(payload)
    refused(r"test_batch: the pixels are not a whole", source, "cifar10")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        b"\x80\x02]q\x00.",
        b"\x80\x02}r\xff\xff\xff\x7f.",  # a memo index that the compiled unpickler allocates
        b"\x80\x02}(U\x04dataNU\x06labels]u.",
        b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",  # a bytearray of a terabyte
    ],
)
def test_pickles_that_lie(tmp_path, payload):
    source = python_cifar(tmp_path)
    (source / "data_batch_1").write_bytes(payload)
    refused(r"data_batch_1: ", source, "cifar10")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_dictionaries_of_any_protocol(protocol):
    content = {1: ["a", (2, 3.5)], "b": {"c": None}}
    assert safe_files.load_dictionary(pickle.dumps(content, protocol)) == content


def test_files_that_are_not_the_official_ones_are_named(tmp_path, monkeypatch):
    source = python_cifar(tmp_path)
    names = ("data_batch_1", "data_batch_2", "test_batch", "batches.meta")
    (told,) = [note for note in read(source, "cifar10").notes if "not the official files" in note]
    assert all(name in told for name in names)
    hashes = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in source.iterdir()}
    monkeypatch.setattr(cifar, "OFFICIAL", hashes | {"test_batch": "0" * 32})
    (told,) = [note for note in read(source, "cifar10").notes if "not the official files" in note]
    assert told.endswith("MD5: test_batch")
    monkeypatch.setattr(cifar, "OFFICIAL", hashes)
    assert not read(source, "cifar10").notes


@pytest.mark.parametrize(
    "change",
    [
        {b"labels": [0] * 29},
        {b"labels": [0] * 29 + ["0"]},
        {b"labels": [0] * 29 + [10]},
        {b"labels": [0] * 29 + [-1]},
        {b"labels": None},
        {b"data": np.zeros((30, 3071), np.uint8)},
        {b"data": np.zeros((30, 3072), np.int8)},
        {b"data": np.zeros((30, 3072), np.float64)},
        {b"data": np.asfortranarray(np.zeros((30, 3072), np.uint8))},
        {b"data": b"\0" * 30 * 3072},
    ],
)
def test_python_cifar_with_other_content(tmp_path, change):
    source = python_cifar(tmp_path)
    content = {b"data": np.zeros((30, 3072), np.uint8), b"labels": [0] * 30}
    dump(source / "data_batch_1", content | change)
    refused(r"data_batch_1: ", source, "cifar10")
