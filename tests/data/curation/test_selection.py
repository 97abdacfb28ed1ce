"""Test sets by selection frequency: what each strategy promises, with annotators that are known."""

import json

import numpy as np
import pandas as pd
import pytest
from command import in_this_process
from PIL import Image

from anynet_study.core.errors import UserError
from anynet_study.data import load_dataset
from anynet_study.data.curation import histogram, select_images

CLASSES = ("ant", "bee", "cat")


def annotated(count: int, eagerness: float, seed: int = 0) -> pd.DataFrame:
    """Of each class `count` images, with ten annotators who take it with a chance of its own."""
    generator = np.random.default_rng(seed)
    chances = generator.beta(eagerness, 2, (len(CLASSES), count))
    names = [f"{name}/{place:04}.png" for name in CLASSES for place in range(count)]
    frequency = generator.binomial(10, chances).ravel() / 10
    return pd.DataFrame(
        {"image": names, "class": np.repeat(CLASSES, count), "frequency": frequency}
    )


POOL, ORIGINAL = annotated(2000, 2), annotated(400, 4, seed=1)


def test_matched_has_the_histogram_of_the_original_class_by_class():
    chosen = select_images(POOL, "matched", 100, ORIGINAL)
    assert not chosen["filled"].any()
    for name in CLASSES:
        ours, theirs = (
            histogram(table.loc[table["class"] == name, "frequency"])
            for table in (chosen, ORIGINAL)
        )
        assert np.abs(ours - theirs).max() <= 0.01 + 1e-9  # one image of a hundred
        assert np.abs(ours - histogram(POOL["frequency"])).max() > 0.1


def test_few_images_of_each_class_match_in_the_mean_over_seeds():
    shares = [
        histogram(select_images(POOL, "matched", 3, ORIGINAL, seed=seed)["frequency"])
        for seed in range(60)
    ]
    wanted = histogram(ORIGINAL["frequency"])
    assert np.abs(np.mean(shares, axis=0) - wanted).max() < 0.04


def test_frequencies_rise_from_matched_to_threshold_to_top():
    means = [
        select_images(POOL, strategy, 50, ORIGINAL)["frequency"].mean()
        for strategy in ("matched", "threshold", "top")
    ]
    assert means[0] < means[1] - 0.05 < means[2] - 0.1
    assert select_images(POOL, "threshold", 50, threshold=0.7)["frequency"].min() == 0.7
    top = select_images(POOL, "top", 50)
    for name in CLASSES:
        of_class = POOL[POOL["class"] == name]
        lowest = top.loc[top["class"] == name, "frequency"].min()
        assert (of_class["frequency"] > lowest).sum() <= 50


def test_a_harder_test_set_is_of_a_range_of_frequencies():
    chosen = select_images(POOL, "threshold", 50, threshold=0.4, below=0.6)
    assert set(chosen["frequency"]) == {0.4, 0.5}
    assert (POOL.loc[chosen.index, "image"] == chosen["image"]).all()
    pool = pd.DataFrame({"class": ["ant", "bee"], "frequency": [0.5, 0.9]})
    with pytest.raises(UserError, match=r"--below 0\.6: class 'bee' has no candidate below it"):
        select_images(pool, "top", 1, below=0.6)


def test_a_bin_without_candidates_is_filled_from_the_nearest_the_higher_first():
    pool = pd.DataFrame({"class": "ant", "frequency": [0.1] * 5 + [0.5] + [0.7] * 2 + [0.9] * 9})
    like = pd.DataFrame({"class": "ant", "frequency": [0.5] * 10})
    chosen = select_images(pool, "matched", 5, like)
    assert sorted(chosen["frequency"]) == [0.5, 0.7, 0.7, 0.9, 0.9]
    assert chosen.loc[chosen["filled"], "frequency"].min() == 0.7


def test_a_seed_draws_the_same_and_another_others():
    one, again, other = (
        set(select_images(POOL, "threshold", 20, seed=seed)["image"]) for seed in (0, 0, 1)
    )
    assert one == again != other


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (("matched", 3, None), "--like must name a table"),
        (("top", 2001, None), "class 'ant' has 2000 candidates; take fewer"),
        (("threshold", 1900, None), "candidates of frequency 0.7 or more"),
        (("matched", 3, ORIGINAL[ORIGINAL["class"] != "bee"]), "no image of class 'bee'"),
    ],
)
def test_what_cannot_be_is_refused(how, reason):
    with pytest.raises(UserError, match=reason):
        select_images(POOL, *how)


@pytest.fixture
def tables(tmp_path):
    """Candidates among the test images of digits, and an original; in a folder of their own."""
    in_this_process(tmp_path, "data", "info", "digits")
    manifest = pd.read_csv(tmp_path / "data/digits/split.csv", dtype=str)
    rows = manifest[manifest["split"] == "test"][["image", "class"]]
    generator = np.random.default_rng(0)
    rows.assign(frequency=generator.integers(3, 11, len(rows)) / 10).to_csv(
        tmp_path / "candidates.csv", index=False
    )
    original = pd.DataFrame({"class": np.repeat(list("0123456789"), 5), "frequency": 0.7})
    original.to_csv(tmp_path / "original.csv", index=False)
    return tmp_path


def test_the_command_makes_a_test_set_without_near_duplicates(tables, monkeypatch):
    told = in_this_process(
        *(tables, "data", "sample", "candidates.csv", "--per-class", 5, "--from", "digits"),
        *("--like", "original.csv", "--original", "digits:train", "--distance", "0.06"),
        *("--add", "new-digits", "-o", "chosen.csv", "--picture", "near.png", "--json"),
    )
    said = json.loads(told.stdout)
    chosen = pd.read_csv(tables / "chosen.csv")
    assert said["left_out"]
    assert not set(said["left_out"]) & set(chosen["image"])
    assert said["mean_frequency"] == pytest.approx(chosen["frequency"].mean())
    assert (tables / "near.png").exists()
    monkeypatch.setenv("ANYNET_DATA", str(tables / "data"))
    digits, made = load_dataset("digits"), load_dataset("new-digits")
    assert made.test_only
    assert made.counts("test").per_class == (5,) * 10
    known = {
        image.tobytes(): label
        for image, label in zip(digits.images("test"), digits.labels("test"), strict=True)
    }
    assert [known[image.tobytes()] for image in made.images("test")] == made.labels("test").tolist()


def test_images_may_be_files_beside_the_table(tmp_path):
    for place in range(8):
        (tmp_path / "pool").mkdir(exist_ok=True)
        Image.new("RGB", (20, 30), (30 * place, 0, 0)).save(tmp_path / f"pool/{place}.png")
    lines = [f"{place}.png,{'ab'[place % 2]},{place / 10}" for place in range(8)]
    (tmp_path / "pool/table.csv").write_text("\n".join(["image,class,frequency", *lines]))
    arguments = ("data", "sample", "pool/table.csv", "--strategy", "top", "--per-class", 2)
    told = in_this_process(tmp_path, *arguments, "--add", "top", "--size", 16)
    assert "top: 4 images of 2 classes, mean frequency 0.5500 (candidates 0.3500)" in told.stdout
    again = in_this_process(tmp_path, *arguments, "--add", "top", expect=2)
    assert "the dataset exists; --force replaces it" in again.stderr
    (tmp_path / "pool/3.png").write_bytes(b"nothing")
    broken = in_this_process(tmp_path, *arguments, "--add", "other", expect=2)
    assert "row 4: " in broken.stderr
    assert "3.png" in broken.stderr


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (None, "no such file"),
        ("image,class\na,b\n", "no column 'frequency'; it has image, class"),
        (
            "image,class,frequency\na,b,1.2\n",
            "row 1: frequency '1.2'; legal is a number from 0 to 1",
        ),
        ("image,class,frequency\na,b,1\na,b,1\n", "image 'a' is listed twice"),
        ("image,class,frequency\n", "the table has no rows"),
    ],
)
def test_a_bad_table_is_told_in_one_line(tmp_path, table, reason):
    if table is not None:
        (tmp_path / "table.csv").write_text(table)
    told = in_this_process(
        tmp_path, "data", "sample", "table.csv", "--per-class", 1, "--strategy", "top", expect=2
    )
    assert reason in told.stderr
    assert len(told.stderr.splitlines()) == 1
