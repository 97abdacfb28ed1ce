"""Images in Parquet as Hugging Face publishes them, and WebDataset's shards."""

import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from miniatures import save
from reading import counts, read, read_with_source, refused

from anynet_study.core.errors import UserError
from anynet_study.data import add_dataset
from anynet_study.data.source.archives import Budget, unpack
from anynet_study.data.source.member import Member

RANDOM = np.random.default_rng(0)
LABEL = {"names": ["cat", "dog"], "_type": "ClassLabel"}


def image(folder: Path, number: int, ending: str = ".png") -> bytes:
    """The bytes of a small image file."""
    save(folder / f"one{ending}", RANDOM, number % 2)
    return (folder / f"one{ending}").read_bytes()


def parquet(path: Path, columns: dict[str, object], features: dict[str, object]) -> None:
    """A table with what Hugging Face notes of its columns."""
    table = pa.table(columns)
    noted = json.dumps({"info": {"features": features}})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"huggingface": noted}), path, row_group_size=3)


def shards(folder: Path, tmp_path: Path, **more: object) -> None:
    """Two shards of 5 for training, and 4 images for testing: cats are 0, dogs are 1."""
    names = {"train-00000-of-00002": 5, "train-00001-of-00002": 5, "test-00000-of-00001": 4}
    for name, count in names.items():
        cells = [
            {
                "bytes": image(tmp_path, n, (".png", ".jpg")[n % 2]),
                "path": (f"{n}.png", None)[n % 2],
            }
            for n in range(count)
        ]
        columns = {"image": cells, "label": [n % 2 for n in range(count)], **more}
        parquet(folder / f"{name}.parquet", columns, {"label": LABEL})


def test_shards_of_parquet(data_home, tmp_path):
    shards(tmp_path / "x/data", tmp_path)
    (tmp_path / "x/README.md").write_text("# a dataset")
    dataset = add_dataset("x", tmp_path / "x", size=8)
    assert dataset.classes == ("cat", "dog")
    assert dataset.counts("train").per_class == (6, 4)
    assert dataset.counts("test").per_class == (2, 2)
    source, listing = read_with_source(tmp_path / "x")
    held = pq.read_table(tmp_path / "x/data/train-00001-of-00002.parquet").to_pylist()
    files = {e.name: listing.encoded(source, e).read(1 << 20) for e in listing.train}
    assert Counter(files.values()) >= Counter(row["image"]["bytes"] for row in held)
    for example in listing.train:
        row = int(Path(example.name).stem)
        assert listing.classes[example.label] == ("cat", "dog")[row % 2]


def test_one_file_of_parquet_and_folders_of_splits(tmp_path):
    shards(tmp_path / "x", tmp_path)
    only = read(tmp_path / "x/test-00000-of-00001.parquet")
    assert counts(only, only.train) == {"cat": 2, "dog": 2}
    for part in ("train", "test"):
        (tmp_path / f"y/default/{part}").mkdir(parents=True)
        (tmp_path / f"x/{part}-00000-of-0000{2 if part == 'train' else 1}.parquet").rename(
            tmp_path / f"y/default/{part}/0000.parquet"
        )
    listing = read(tmp_path / "y")
    assert (len(listing.train), len(listing.test)) == (5, 4)


def test_classes_of_parquet_are_declared_or_asked_for(tmp_path):
    fine, coarse = [n % 3 for n in range(6)], [n % 2 for n in range(6)]
    columns = {
        "img": [image(tmp_path, n) for n in range(6)],
        "fine_label": fine,
        "coarse_label": coarse,
        "width": [8] * 6,
    }
    names = {"names": ["a", "b", "c"], "_type": "ClassLabel"}
    parquet(tmp_path / "x.parquet", columns, {"fine_label": names, "coarse_label": LABEL})
    refused("'fine_label' or 'coarse_label', which do not agree", tmp_path / "x.parquet")
    listing = read(tmp_path / "x.parquet", label_column="fine_label")
    assert counts(listing, listing.train) == {"a": 2, "b": 2, "c": 2}
    parquet(tmp_path / "y.parquet", columns, {"coarse_label": LABEL})
    assert read(tmp_path / "y.parquet").classes == ("cat", "dog")
    parquet(tmp_path / "z.parquet", columns, {})
    refused("z.parquet.*fine_label, coarse_label.*--label-column", tmp_path / "z.parquet")


def test_a_test_split_without_classes_is_not_read(tmp_path):
    for part, labels in (("train", [0, 1, 0, 1]), ("validation", [1, 0]), ("test", [-1, -1])):
        columns = {"image": [image(tmp_path, n) for n in range(len(labels))], "label": labels}
        parquet(tmp_path / f"x/{part}-00000-of-00001.parquet", columns, {"label": LABEL})
    listing = read(tmp_path / "x")
    assert (len(listing.train), len(listing.test)) == (4, 2)
    assert any("test-00000-of-00001.parquet is not read" in note for note in listing.notes)


def test_lists_of_classes_in_parquet(tmp_path):
    said = [[0], [1], [0, 1], []]
    columns = {"image": [image(tmp_path, n) for n in range(4)], "labels": said}
    parquet(tmp_path / "x.parquet", columns, {"labels": {"feature": LABEL, "_type": "Sequence"}})
    refused("no class in column 'labels'.*--no-class", tmp_path / "x.parquet")
    listing = read(tmp_path / "x.parquet", no_class="none")
    found = [sorted(listing.class_names(example)) for example in listing.train]
    assert (found, listing.multi_label) == ([["cat"], ["dog"], ["cat", "dog"]], True)


def test_paths_in_parquet(tmp_path):
    for number in range(6):
        save(tmp_path / f"x/images/{number:03d}.png", RANDOM, number % 2)
    paths = [{"bytes": None, "path": f"images/{n:03d}.png"} for n in range(6)]
    columns = {"image": paths, "label": [n % 2 for n in range(6)]}
    parquet(tmp_path / "x/train.parquet", columns, {"label": LABEL})
    listing = read(tmp_path / "x")
    assert counts(listing, listing.train) == {"cat": 3, "dog": 3}
    columns["image"] = [path["path"] for path in paths]
    parquet(tmp_path / "x/train.parquet", columns, {})
    assert read(tmp_path / "x").classes == ("0", "1")


def test_parquet_that_is_damaged_or_too_large(tmp_path):
    shards(tmp_path / "x", tmp_path)
    path = tmp_path / "x/train-00000-of-00002.parquet"
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:-9])
    refused("cut.parquet", tmp_path / "cut.parquet")
    bomb = {"image": [b"\0" * 100_000] * 10, "label": [0, 1] * 5}
    parquet(tmp_path / "bomb.parquet", bomb, {"label": LABEL})
    for free, told in ((500_000, "'0000005.jpg' makes it too large"), (200, "more than is read")):
        budget = Budget(archived=0, free_bytes=free)
        member = Member(str(tmp_path / "bomb.parquet"))
        with pytest.raises(UserError, match=f"bomb.parquet: .*{told}"):
            unpack(member, "bomb.parquet", tmp_path / f"unpacked{free}", budget)


def shard(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as opened:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("kind", ["cls", "json", "both", "gz"])
def test_shards_of_webdataset(data_home, tmp_path, kind):
    number = 0
    for part, count in (("train", 2), ("validation", 1)):
        for place in range(count):
            files = {}
            for _ in range(5):
                key = f"{number:06d}"
                files[f"{key}.jpg"] = image(tmp_path, number, ".jpg")
                if kind != "json":
                    files[f"{key}.cls"] = f"{number % 2}\n".encode()
                if kind in ("json", "both"):
                    said = {"label": number % 2, "filename": f"{key}.JPEG", "width": 8}
                    files[f"{key}.json"] = json.dumps(said).encode()
                number += 1
            shard(tmp_path / f"x/imagenet1k-{part}-{place:04d}.tar", files)
    dataset = add_dataset("x", tmp_path / "x", size=8)
    assert dataset.classes == ("0", "1")
    assert (dataset.counts("train").per_class, dataset.counts("test").per_class) == (
        (5, 5),
        (3, 2),
    )
    listing = read(tmp_path / "x")
    assert all(example.label == int(example.name[-10:-4]) % 2 for example in listing.train)


def test_samples_of_webdataset_with_several_images(tmp_path):
    files = {}
    for number in range(6):
        for ending in ("jpg", "seg.png"):
            files[f"{number}.{ending}"] = image(tmp_path, number, f".{ending[-3:]}")
        files[f"{number}.cls"] = str(number % 2).encode()
    shard(tmp_path / "x/train-000000.tar", files)
    refused(r"one sample.*--ignore '\*\.seg\.png'", tmp_path / "x")
    assert len(read(tmp_path / "x", ignore="*.seg.png").train) == 6


def test_json_tables_of_images(tmp_path):
    """One record in each line as Hugging Face's metadata.jsonl, or a mapping of images."""
    for number in range(6):
        save(tmp_path / f"x/{number:03d}.png", RANDOM, number % 2)
    rows = [{"file_name": f"{n:03d}.png", "label": "ab"[n % 2]} for n in range(6)]
    table = tmp_path / "x/metadata.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)))
    assert counts(read(tmp_path / "x"), read(tmp_path / "x").train) == {"a": 3, "b": 3}
    table.unlink()
    told = {row["file_name"]: row["label"] for row in rows}
    (tmp_path / "x/labels.json").write_text(json.dumps(told))
    assert read(tmp_path / "x").classes == ("a", "b")


def test_hdf5_and_matlab_7_3_are_told_apart_from_what_is_damaged(tmp_path):
    """Alone, in a folder, and as .mat: one line that says what it is, and how to convert it."""
    folder, matlab = tmp_path / "arrays", tmp_path / "matlab"
    for one in (folder, matlab):
        one.mkdir()
    with h5py.File(folder / "train.h5", "w") as file:
        file["x"] = np.zeros((4, 8, 8, 3), np.uint8)
    with h5py.File(matlab / "train_32x32.mat", "w", userblock_size=512) as file:
        file["X"] = np.zeros((4, 3, 8, 8), np.uint8)
    with (matlab / "train_32x32.mat").open("r+b") as opened:
        opened.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    for path in (folder, folder / "train.h5", matlab, matlab / "train_32x32.mat"):
        name = "train.h5" if folder in (path, path.parent) else "train_32x32.mat"
        refused(rf"{name}: an HDF5 file .*numpy\.savez.*-v7", path)
