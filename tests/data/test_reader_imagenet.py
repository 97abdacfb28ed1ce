"""ImageNet as tars with a kit, and what its labels can get wrong."""

import io
import shutil
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from miniatures import save, wnids
from miniatures_study import imagenet_tars, meta_mat
from reading import class_of, counts, read

from anynet_study.data import add_dataset
from anynet_study.errors import UserError

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
    listing = read(folder)
    assert listing.layout == LAYOUT
    assert counts(listing, listing.train) == dict.fromkeys(wnids(5), 4)
    return {Path(name).stem: wnid for name, wnid in class_of(listing, listing.test).items()}


def test_labels_are_those_of_the_kit_not_the_order_of_the_wnids(tars):
    folder, truth = tars
    assert validation(folder) == truth


def test_extracted_in_part(tars):
    folder, truth = tars
    extract(folder, "ILSVRC2012_devkit_t12.tar.gz", ".")
    extract(folder, "ILSVRC2012_img_val.tar", "val")
    assert validation(folder) == truth


def test_extracted_as_a_whole(tars):
    folder, truth = tars
    extract(folder, "ILSVRC2012_devkit_t12.tar.gz", ".")
    extract(folder, "ILSVRC2012_img_val.tar", "val")
    extract(folder, "ILSVRC2012_img_train.tar", "train")
    for wnid in wnids(5):
        extract(folder / "train", f"{wnid}.tar", wnid)
    assert validation(folder) == truth


def test_all_in_one_zip(tars, tmp_path):
    folder, truth = tars
    archive = Path(shutil.make_archive(str(tmp_path / "all"), "zip", folder))
    assert validation(archive) == truth


def test_packed_from_tars_as_from_folders(tars, data_home):
    folder, _ = tars
    packed = add_dataset("tars", folder, size=16)
    for name, target in (("img_train", "train"), ("img_val", "val"), ("devkit_t12", ".")):
        suffix = "tar.gz" if name == "devkit_t12" else "tar"
        extract(folder, f"ILSVRC2012_{name}.{suffix}", target)
    for wnid in wnids(5):
        extract(folder / "train", f"{wnid}.tar", wnid)
    again = add_dataset("folders", folder, size=16)
    assert again.content_hash == packed.content_hash


def test_without_the_kit(tars):
    folder, _ = tars
    (folder / "ILSVRC2012_devkit_t12.tar.gz").unlink()
    with pytest.raises(UserError, match=r"ILSVRC2012_validation_ground_truth.txt; the labels"):
        read(folder)


def test_without_the_validation_images(tars):
    folder, _ = tars
    (folder / "ILSVRC2012_img_val.tar").unlink()
    with pytest.raises(UserError, match=r"no ILSVRC2012_img_val.tar"):
        read(folder)


def test_a_training_tar_alone_is_not_a_dataset_with_a_split_of_its_own(tars):
    """Its validation images are the test split, not a part of its training images."""
    folder, _ = tars
    for name in ("ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"):
        (folder / name).unlink()
    with pytest.raises(UserError, match=r"no ILSVRC2012_img_val.tar"):
        read(folder)


def replace_kit(folder: Path, truth: bytes | None, meta: bytes | None) -> None:
    extract(folder, "ILSVRC2012_devkit_t12.tar.gz", ".")
    data = folder / "ILSVRC2012_devkit_t12" / "data"
    if truth is not None:
        (data / "ILSVRC2012_validation_ground_truth.txt").write_bytes(truth)
    if meta is not None:
        (data / "meta.mat").write_bytes(meta)


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        (b"1\n" * 9, "9 labels for the 10 images"),
        (b"0\n" * 10, "'0' is no leaf"),
        (b"6\n" * 10, "'6' is no leaf"),  # a class with children
        (b"x\n" * 10, "'x' is no leaf"),
    ],
)
def test_labels_that_are_none(tars, truth, reason):
    folder, _ = tars
    replace_kit(folder, truth, None)
    with pytest.raises(UserError, match=rf"ground_truth.txt: .*{reason}"):
        read(folder)


def bomb() -> bytes:
    """A kit whose table is 100 MB of zeros, in 100 kB."""
    content = meta_mat({"n00000001": 1})
    body = zlib.compress(bytes(100 << 20), 9)
    return content[:128] + (15).to_bytes(4, "little") + len(body).to_bytes(4, "little") + body


def other_table() -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"synsets": np.eye(3)})
    return buffer.getvalue()


def huge_dimensions() -> bytes:
    """A table of 2^31 - 1 rows in 300 bytes."""
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"synsets": np.zeros((3, 1), [("WNID", object)])})
    return buffer.getvalue().replace(
        (3).to_bytes(4, "little") + (1).to_bytes(4, "little"),
        (2**31 - 1).to_bytes(4, "little") + (1).to_bytes(4, "little"),
    )


@pytest.mark.parametrize(
    "meta",
    [b"", b"hello" * 100, meta_mat({"n00000001": 1})[:-20], bomb(), other_table()],
    ids=["empty", "text", "truncated", "bomb", "another table"],
)
def test_a_kit_that_lies(tars, meta):
    folder, _ = tars
    replace_kit(folder, None, meta)
    with pytest.raises(UserError, match=r"meta.mat: not the kit's table of classes"):
        read(folder)


def test_a_kit_of_huge_dimensions_allocates_nothing(tars):
    folder, _ = tars
    replace_kit(folder, None, huge_dimensions())
    with pytest.raises(UserError, match=r"meta.mat: not the kit's table of classes"):
        read(folder)


def test_a_stray_folder_in_train(tars):
    folder, _ = tars
    extract(folder, "ILSVRC2012_devkit_t12.tar.gz", ".")
    extract(folder, "ILSVRC2012_img_val.tar", "val")
    (folder / "ILSVRC2012_img_train.tar").unlink()
    for wnid in wnids(5):
        save(folder / "train" / wnid / "1.JPEG", RANDOM, 0)
    save(folder / "train" / "other" / "1.JPEG", RANDOM, 0)
    with pytest.raises(UserError, match="other: not named by a wnid"):
        read(folder)
