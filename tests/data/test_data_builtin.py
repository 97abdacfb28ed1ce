"""Built-in datasets: the same everywhere and for ever, made on first use."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from anynet_study.data import BUILT_IN, load_dataset
from anynet_study.data.builtin import blobs, gratings
from anynet_study.errors import UserError

GOLDEN = {
    "digits": "ce699ea32829a0eb32d3024a7069ab225105bff16c3a799a619d0b1a82b4906e",
    "gratings": "9f966af68d3b780fcdf0636c8e7efb74f7aed6096e7c4f718d9c60752c4a05fa",
    "blobs": "e1a8cb80822ece055c97f0327ae5b9f1649621febdfb7c1f6623a4db1776323d",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_content_is_pinned(data_home, name):
    """Runs on built-in data are compared across machines by this hash."""
    assert load_dataset(name).content_hash == GOLDEN[name]


def test_digits_are_scikit_learns(data_home):
    dataset = load_dataset("digits")
    assert dataset.classes == tuple("0123456789")
    truth = load_digits()
    grey = np.concatenate([dataset.images("train"), dataset.images("test")])
    assert (grey == grey[..., :1]).all()
    levels = np.rint(grey[..., 0] / (255 / 16)).astype(int).reshape(-1, 64)
    labels = np.concatenate([dataset.labels("train"), dataset.labels("test")])
    found = sorted(map(tuple, np.column_stack([labels, levels])))
    assert found == sorted(map(tuple, np.column_stack([truth.target, truth.data]).astype(int)))
    assert abs(dataset.counts("test").images / 1797 - 0.2) < 0.01


@pytest.mark.parametrize("name", ["gratings", "blobs"])
def test_procedural_datasets_are_balanced(data_home, name):
    dataset = load_dataset(name)
    assert dataset.size == 12
    for split, images in (("train", 1200), ("test", 600)):
        counts = dataset.counts(split)
        assert counts.images == images
        assert len(set(counts.per_class)) == 1
    assert dataset.meta.duplicates.test_in_train == 0


@pytest.mark.parametrize("draw", [gratings, blobs])
def test_seeds_draw_other_images(draw):
    one, two, other = draw(60, 0)[0], draw(60, 0)[0], draw(60, 1)[0]
    np.testing.assert_array_equal(one, two)
    assert (one != other).mean() > 0.9


@pytest.mark.parametrize(("draw", "classes"), [(gratings, 6), (blobs, 4)])
def test_pixels_alone_do_not_tell_the_class(draw, classes):
    """Nearest neighbours see colours and places, which say little: it takes features."""
    images, labels = draw(1800, 0)
    flat = images.reshape(1800, -1) / 255
    neighbours = KNeighborsClassifier(5).fit(flat[:1200], labels[:1200])
    error = 100 * (1 - neighbours.score(flat[1200:], labels[1200:]))
    assert error > 35
    assert error < 100 * (1 - 1 / classes)


@pytest.mark.parametrize("draw", [gratings, blobs])
def test_classes_are_distinguishable(draw):
    """A random forest on simple features that ignore place is far better than chance."""
    from sklearn.ensemble import RandomForestClassifier

    images, labels = draw(1200, 0)
    grey = images.astype(float).mean(axis=3)
    grey -= grey.mean(axis=(1, 2), keepdims=True)
    power = np.abs(np.fft.fft2(grey)) ** 2
    ring = np.rint(24 * np.hypot(*np.meshgrid(np.fft.fftfreq(12), np.fft.fftfreq(12)))).astype(int)
    rings = [power[:, ring == radius].sum(axis=1) for radius in np.unique(ring)]
    peaks = np.sort(power.reshape(1200, -1), axis=1)[:, -8:]
    features = np.column_stack([*rings, peaks, np.sort(grey.reshape(1200, -1), axis=1)])
    forest = RandomForestClassifier(100, random_state=0).fit(features[:800], labels[:800])
    assert forest.score(features[800:], labels[800:]) > 2 / len(set(labels))


def _load(name: str) -> str:
    return load_dataset(name).content_hash


def test_several_processes_at_once_are_harmless(data_home):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert set(pool.map(_load, ["blobs"] * 4, chunksize=1)) == {GOLDEN["blobs"]}
    assert [path.name for path in data_home.iterdir()] == ["blobs"]


def test_an_unknown_dataset_says_what_there_is(data_home):
    with pytest.raises(UserError) as caught:
        load_dataset("digit")
    line = str(caught.value)
    assert "did you mean 'digits'" in line
    assert "blobs, digits, gratings" in line
    assert "anynet-study data add digit --from" in line
    assert "\n" not in line


def test_data_does_not_need_torch():
    code = "import sys, anynet_study.data; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
