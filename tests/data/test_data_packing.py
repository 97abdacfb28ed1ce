"""Packing: exact bytes and statistics, one hash for one content, never half a dataset."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from miniatures import save, write_miniature
from PIL import Image

from anynet_study.core.errors import UserError
from anynet_study.data import Choices, add_dataset, load_dataset, present
from anynet_study.data.source.images import decode_image


def break_image(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-200])
    return path


@pytest.fixture
def natural(tmp_path) -> Path:
    return write_miniature("natural", tmp_path)


def test_rows_are_the_images_of_the_manifest(data_home, natural):
    dataset = add_dataset("natural", natural, size=16)
    with (dataset.folder / "split.csv").open() as file:
        rows = list(csv.DictReader(file))
    for split in ("train", "test"):
        images, labels = dataset.images(split), dataset.labels(split)
        mine = [row for row in rows if row["split"] == split]
        assert len(mine) == len(images) == dataset.counts(split).images
        for row, image, label in zip(mine, images, labels, strict=True):
            np.testing.assert_array_equal(
                image, decode_image((natural / row["image"]).read_bytes(), 16)
            )
            assert row["class"] == dataset.classes[label]


def test_statistics_are_those_of_the_pixels(data_home, natural):
    dataset = add_dataset("natural", natural, size=16)
    pixels = dataset.images("train") / 255
    mean, std = dataset.statistics()
    np.testing.assert_allclose(mean, pixels.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(std, pixels.std(axis=(0, 1, 2)), rtol=1e-10)
    index = np.array([3, 17, 18])
    mean, std = dataset.statistics("train", index)
    np.testing.assert_allclose(mean, pixels[index].mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(std, pixels[index].std(axis=(0, 1, 2)), rtol=1e-10)


def test_a_constant_channel_is_normalised_to_zero(data_home, tmp_path):
    for number in range(4):
        (tmp_path / "x" / f"{number % 2}").mkdir(parents=True, exist_ok=True)
        image = Image.new("RGB", (8, 8), (7, number, 0))
        image.save(tmp_path / "x" / f"{number % 2}" / f"{number}.png")
    mean, std = add_dataset("x", tmp_path / "x", size=8).statistics()
    assert mean[0] == 7 / 255
    assert std[0] == std[2] == 1.0
    assert 0 < std[1] < 1


def test_the_hash_knows_content_only(data_home, natural, tmp_path):
    first = add_dataset("one", natural, size=16)
    moved = tmp_path / "elsewhere" / "renamed"
    shutil.copytree(natural, moved)
    assert add_dataset("two", moved, size=16).content_hash == first.content_hash
    hashes = {first.content_hash, add_dataset("size", natural, size=15).content_hash}
    (moved / "seg_train/seg_train/sea").rename(moved / "seg_train/seg_train/seb")
    (moved / "seg_test/seg_test/sea").rename(moved / "seg_test/seg_test/seb")
    hashes.add(add_dataset("class", moved, size=16).content_hash)
    image = next((moved / "seg_test/seg_test/seb").iterdir())
    save(image, np.random.default_rng(1), 0)
    hashes.add(add_dataset("pixel", moved, size=16).content_hash)
    image.rename(image.parents[1] / "forest" / "zzz.jpg")
    hashes.add(add_dataset("label", moved, size=16).content_hash)
    assert len(hashes) == 5


def test_processes_do_not_change_the_result(data_home, natural):
    break_image(natural / "seg_train/seg_train/forest/00003.jpg")
    alone = add_dataset("alone", natural, size=16, workers=1, max_broken=0.1)
    pool = add_dataset("pool", natural, size=16, workers=2, max_broken=0.1)
    assert pool.content_hash == alone.content_hash
    assert pool.meta.quarantined == alone.meta.quarantined


def test_broken_images_are_listed_and_left_out(data_home, natural):
    break_image(natural / "seg_train/seg_train/forest/00003.jpg")
    (natural / "seg_test/seg_test/sea/00001.jpg").write_text("not found")
    dataset = add_dataset("natural", natural, size=16, max_broken=0.05)
    found = {(b.split, b.image): b.reason for b in dataset.meta.quarantined}
    assert set(found) == {
        ("train", "seg_train/seg_train/forest/00003.jpg"),
        ("test", "seg_test/seg_test/sea/00001.jpg"),
    }
    assert "truncated" in found["train", "seg_train/seg_train/forest/00003.jpg"]
    assert dataset.counts("train").per_class == (8, 7, 8, 8, 9, 8)
    assert dataset.counts("test").per_class == (4, 4, 4, 4, 3, 4)
    dataset.verify()


def test_too_many_broken_images(data_home, natural):
    break_image(natural / "seg_train/seg_train/forest/00003.jpg")
    with pytest.raises(UserError, match=r"forest/00003.jpg: unreadable image .*--max-broken"):
        add_dataset("natural", natural, size=16)
    assert present() == []
    assert list(data_home.iterdir()) == []


def test_a_class_of_broken_images_only(data_home, natural):
    for path in (natural / "seg_test/seg_test/sea").iterdir():
        break_image(path)
    with pytest.raises(UserError, match="class 'sea' has no readable image in the test split"):
        add_dataset("natural", natural, size=16, max_broken=0.5)


def test_a_name_is_taken_unless_forced(data_home, natural, tmp_path):
    first = add_dataset("natural", natural, size=16)
    with pytest.raises(UserError, match="--force replaces it"):
        add_dataset("natural", natural, size=12)
    assert load_dataset("natural").content_hash == first.content_hash
    assert add_dataset("natural", natural, size=12, force=True).size == 12
    assert [path.name for path in data_home.iterdir()] == ["natural"]


def test_a_failed_replacement_leaves_the_old_one(data_home, natural, tmp_path):
    first = add_dataset("natural", natural, size=16)
    with pytest.raises(UserError):
        add_dataset("natural", tmp_path / "nothing", force=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="layout not recognised"):
        add_dataset("natural", tmp_path / "empty", force=True)
    assert load_dataset("natural").content_hash == first.content_hash


def test_parts_of_a_dataset(data_home, natural):
    part = add_dataset("part", natural, size=16, limit_per_class=3)
    assert set(part.counts("train").per_class) == set(part.counts("test").per_class) == {3}
    half = add_dataset("half", natural, size=16, fraction=0.5, seed=3)
    assert set(half.counts("train").per_class) == {4}
    assert half.meta.limit is not None
    assert half.meta.limit.seed == 3


def test_holdouts_are_described_and_seeded(data_home, tmp_path):
    source = write_miniature("ham10000", tmp_path)
    how = {"size": 12, "test_share": 0.3, "choices": Choices(layout="ham10000")}
    one = add_dataset("one", source, **how)
    two = add_dataset("two", source, **how, seed=1)
    assert one.meta.holdout is not None
    assert one.meta.holdout.model_dump() == {"seed": 0, "share": 0.3, "grouped": True}
    assert one.content_hash != two.content_hash
    assert one.classes == two.classes


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"size": 0}, "--size 0"),
        ({"size": 5000}, "--size 5000"),
        ({"size": None}, "--size is needed"),
        ({"test_share": 0.0}, "--test-share"),
        ({"test_share": 1.0}, "--test-share"),
        ({"max_broken": 1.0}, "--max-broken"),
        ({"max_broken": float("nan")}, "--max-broken"),
        ({"limit_per_class": 0}, "--limit-per-class"),
        ({"fraction": 1.5}, "--fraction"),
    ],
)
def test_options_out_of_range(data_home, natural, options, reason):
    with pytest.raises(UserError, match=reason):
        add_dataset("mine", natural, **{"size": 16, **options})


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "-x", "digits", "x" * 65])
def test_names_that_are_none(data_home, natural, name):
    with pytest.raises(UserError, match=r"dataset name|built in"):
        add_dataset(name, natural, size=16)


def test_too_little_space(data_home, natural, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(UserError, match=r"kB needed, 1 kB free"):
        add_dataset("natural", natural, size=16)
