"""Images and labels in one .npz file, as MedMNIST publishes them."""

from pathlib import Path

import numpy as np
import pytest
from reading import read, refused

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
        ({"train_images": np.zeros((12, 8, 8), np.float32)}, "train_images.npy: float32"),
        ({"train_labels": np.zeros((12, 5), np.uint8)}, "several classes of an image are not"),
        ({"test_labels": np.zeros(5, np.uint8)}, "whole number for each of 6 images"),
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
