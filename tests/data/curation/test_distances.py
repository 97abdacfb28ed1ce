"""Distances: as scipy has them, without bias, small where sets are alike; the command; features."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from command import in_this_process
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist

from anynet_study.core.errors import UserError
from anynet_study.data.curation import (
    Moments,
    distance_table,
    equal_samples,
    features_of,
    frechet,
    frechet_distance,
)
from anynet_study.engine.study_networks import open_extractor


def drawn(count: int, features: int = 12, shift: float = 0.0, seed: int = 0) -> np.ndarray:
    """(count, features) of a Gaussian with correlations; `shift` moves the first feature."""
    generator = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).normal(size=(features, features)) / np.sqrt(features)
    found = generator.normal(size=(count, features)) @ mixing
    found[:, 0] += shift
    return found.astype(np.float32)


A, B = drawn(400), drawn(400, shift=1.0, seed=1) * 1.3


def test_every_distance_is_that_of_its_definition():
    row = distance_table({"a": A, "b": B}).iloc[0]
    gaussians = [(x.mean(0), np.cov(x.astype(float), rowvar=False)) for x in (A, B)]
    (mean, cov), (mean2, cov2) = gaussians
    plain = ((mean - mean2) ** 2).sum() + np.trace(cov + cov2 - 2 * sqrtm(cov @ cov2).real)
    assert row["fid"] == pytest.approx(plain, rel=1e-5)
    assert frechet_distance(*gaussians[0], *gaussians[1]) == pytest.approx(plain, rel=1e-6)
    off = ~np.eye(len(A), dtype=bool)
    kernel = lambda x, y: (x.astype(float) @ y.T / 12 + 1) ** 3  # noqa: E731
    kid = kernel(A, A)[off].mean() + kernel(B, B)[off].mean() - 2 * kernel(A, B).mean()
    assert row["kid"] == pytest.approx(kid, rel=1e-3)
    energy = 2 * cdist(A, B).mean() - cdist(A, A)[off].mean() - cdist(B, B)[off].mean()
    assert row["energy"] == pytest.approx(energy, rel=1e-3)


@pytest.mark.slow
def test_the_bias_of_fid_is_found_and_intervals_have_the_truth():
    """Of one distribution the FID is 0, but never of samples; the bias is all that is measured."""
    inside = {"fid": 0, "kid": 0, "energy": 0}
    rows = []
    for seed in range(30):
        row = distance_table({"a": drawn(200, seed=seed), "b": drawn(200, seed=100 + seed)}).iloc[0]
        rows.append(row)
        for kind in inside:
            inside[kind] += row[f"{kind}_low"] <= 0 <= row[f"{kind}_high"]
    assert min(inside.values()) >= 24, inside
    means = pd.DataFrame(rows)[["fid", "fid_corrected"]].astype(float).mean()
    assert means["fid"] > 0.3 > 0.06 > abs(means["fid_corrected"])


def test_fewer_images_raise_the_fid_but_not_the_corrected_one():
    values = {
        count: np.mean(
            [
                [(found := frechet(*map(Moments.of, pair))).value, found.corrected]
                for seed in range(20)
                if (pair := (drawn(count, seed=seed), drawn(count, shift=1.0, seed=50 + seed)))
            ],
            axis=0,
        )
        for count in (60, 2000)
    }
    few, many = values[60], values[2000]
    assert few[0] > many[0] + 0.3
    assert few[1] == pytest.approx(many[1], abs=0.12)


def test_samples_are_equal_and_drawn():
    rows = equal_samples({"a": 100, "b": 60}, seed=1)
    assert {name: len(set(of)) for name, of in rows.items()} == {"a": 60, "b": 60}
    assert max(rows["a"]) > 60
    for images, reason in ((61, "--images 61: b has 60"), (10, "10 images are too few, 40 are")):
        with pytest.raises(UserError, match=reason):
            equal_samples({"a": 100, "b": 60}, images)


def test_features_that_are_none_are_refused():
    with pytest.raises(UserError, match="of different lengths: a 12, b 5"):
        distance_table({"a": A, "b": A[:, :5]})
    with pytest.raises(UserError, match="b: its features are not all finite"):
        distance_table({"a": A, "b": np.full_like(A, np.nan)})
    images, rows = np.zeros((50, 8, 8, 3), np.uint8), np.arange(50)
    with pytest.raises(UserError, match=r"of 50 images it made uint8 \(8, 8, 3\)"):
        features_of(images, rows, lambda some: some[0])
    for text, reason in (
        ("numpy:nothing", "numpy has no function 'nothing'"),
        ("no_such:thing", "No module named 'no_such'"),
        ("quickstart", "a network is STUDY/RUN"),
        ("nowhere/abc", "nowhere: no such study"),
    ):
        with pytest.raises(UserError, match=reason):
            open_extractor(text)


@pytest.mark.slow
def test_digits_against_their_half_are_below_digits_against_gratings(tmp_path, monkeypatch):
    """With what needs no network, and with a function of anybody's."""
    (tmp_path / "colour_features.py").write_text(
        "def colours(images):\n    return images.std(axis=(1, 2))\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the folder of the command is added
    for features in ("frequencies", "colour_features:colours"):
        told = in_this_process(
            *(tmp_path, "data", "distance", "digits:train", "digits:test", "gratings:train"),
            *("--images", "300", "--features", features, "-o", "far.csv", "--json"),
        )
        rows = {(row["a"], row["b"]): row for row in json.loads(told.stdout)["distances"]}
        near, far = rows["digits:train", "digits:test"], rows["digits:train", "gratings:train"]
        for kind in ("fid_corrected", "kid", "energy"):
            assert abs(near[kind]) < 0.05 * far[kind]
        assert len(pd.read_csv(tmp_path / "far.csv")) == 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("digits",), "name two datasets or more"),
        (("digits", "digits"), "digits is named twice"),
        (("digits", "blobs", "--images", "5000"), "--images 5000: blobs has 1200"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path, arguments, reason):
    told = in_this_process(tmp_path, "data", "distance", *arguments, expect=2)
    assert reason in told.stderr.splitlines()[-1]
