"""Images stored as JPEG files: the same interface, and where nothing is encoded the same pixels."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from miniatures import picture, save
from PIL import Image

from anynet_study.core.errors import UserError
from anynet_study.data import PackedDataset, Variant, add_dataset, make_view
from anynet_study.data.packed.images import JpegImages
from anynet_study.data.packing import packing, writers
from anynet_study.data.source.images import decode_image

SIZE = 24


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """40 JPEGs of about the size that is needed: colour and grey, wide and high."""
    monkeypatch.setattr(writers, "BATCH_BYTES", 3000)
    monkeypatch.setattr("anynet_study.data.packing.decoding.CHUNK_IMAGES", 4)
    random = np.random.default_rng(0)
    for number in range(40):
        split, label = "test" if number % 4 == 0 else "train", str(number % 3 // 2)
        path = tmp_path / "small" / split / label
        save(path / f"{number:02d}.jpg", random, int(label), 18 + number % 7, 24)
        if number % 5 == 0:
            grey = Image.open(path / f"{number:02d}.jpg").convert("L")
            grey.save(path / f"{number:02d}.jpg")
    return tmp_path / "small"


@pytest.fixture
def both(data_home, small) -> tuple[PackedDataset, PackedDataset]:
    """Raw and JPEG."""
    return tuple(add_dataset(store, small, size=SIZE, store=store) for store in ("raw", "jpeg"))


def test_files_are_kept_and_give_the_pixels_of_the_raw_form(both, small):
    raw, jpeg = both
    assert jpeg.images("train")._files.num_chunks > 2
    for split in ("train", "test"):
        found, expected = jpeg.images(split), raw.images(split)
        assert isinstance(found, JpegImages)
        assert (found.shape, found.dtype, found.nbytes) == (
            expected.shape,
            expected.dtype,
            expected.nbytes,
        )
        np.testing.assert_array_equal(found[:], expected)
        np.testing.assert_array_equal(jpeg.labels(split), raw.labels(split))
        np.testing.assert_array_equal(jpeg.moments(split), raw.moments(split))
    names = sorted(path.relative_to(small).as_posix() for path in small.glob("train/*/*.jpg"))
    for row, name in enumerate(names):
        assert bytes(jpeg.images("train").file(row)) == (small / name).read_bytes()
    np.testing.assert_array_equal(jpeg.statistics(), raw.statistics())


def test_any_number_of_threads_may_read(both):
    raw, jpeg = (dataset.images("train") for dataset in both)
    rows = np.random.default_rng(0).integers(0, 30, (40, 5))
    with ThreadPoolExecutor(8) as pool:
        for index, images in zip(rows, pool.map(jpeg.__getitem__, rows), strict=True):
            np.testing.assert_array_equal(images, raw[index])


def test_a_class_subset_is_a_view(both):
    raw, jpeg = (make_view(dataset, Variant(base="x", fraction=0.5)) for dataset in both)
    np.testing.assert_array_equal(jpeg.mean, raw.mean)
    np.testing.assert_array_equal(
        jpeg.images("train")[jpeg.train_index], raw.images("train")[raw.train_index]
    )


@pytest.fixture
def mixed(tmp_path) -> Path:
    """Images that are not kept: too large, turned, of another format, of four colours, noise."""
    random = np.random.default_rng(1)
    folder = tmp_path / "mixed"
    for number in range(4):
        for name, height, width in (("large.jpg", 90, 120), ("long.jpg", 24, 60)):
            save(folder / str(number % 2) / f"{number}{name}", random, number, height, width)
        save(folder / str(number % 2) / f"{number}.png", random, number, 30, 24)
        image = Image.fromarray(picture(random, number, 24, 24))
        exif = Image.Exif()
        exif[0x0112] = 6
        image.save(folder / str(number % 2) / f"{number}turned.jpg", exif=exif, quality=95)
        image.convert("CMYK").save(folder / str(number % 2) / f"{number}cmyk.jpg")
    for number in range(2):
        noise = Image.fromarray(random.integers(0, 256, (24, 24, 3), np.uint8))
        noise.save(folder / str(number) / "noise.jpg", quality=100, subsampling=0)
    return folder


def test_others_are_encoded_and_are_what_was_encoded(data_home, mixed):
    raw = add_dataset("raw", mixed, size=SIZE)
    jpeg = add_dataset("jpeg", mixed, size=SIZE, store="jpeg")
    assert jpeg.counts("train") == raw.counts("train")
    images = jpeg.images("train")
    for row in range(len(images)):
        file = bytes(images.file(row))
        assert len(file) <= SIZE * SIZE * 3
        with Image.open(io.BytesIO(file)) as opened:
            assert (opened.format, opened.size, opened.mode) == ("JPEG", (SIZE, SIZE), "RGB")
            np.testing.assert_array_equal(images[row], np.asarray(opened))
    difference = images[:].astype(int) - raw.images("train")
    assert abs(difference.mean(axis=(1, 2))).max() < 8
    # They are noise, of which colours have half the resolution.
    assert np.median(abs(difference).mean(axis=(1, 2, 3))) < 16
    pixels = images[:] / 255
    mean, std = jpeg.statistics()
    np.testing.assert_allclose(mean, pixels.mean(axis=(0, 1, 2)), rtol=1e-12)
    np.testing.assert_allclose(std, pixels.std(axis=(0, 1, 2)), rtol=1e-10)


def test_a_file_is_fitted_as_it_would_be_for_the_raw_form(data_home, small):
    raw = add_dataset("raw", small, size=20, resize=24)
    jpeg = add_dataset("jpeg", small, size=20, resize=24, store="jpeg")
    np.testing.assert_array_equal(jpeg.images("test")[:], raw.images("test"))
    row = np.array(jpeg.images("test")[0])
    file = sorted(small.glob("test/*/*.jpg"))[0].read_bytes()
    np.testing.assert_array_equal(row, decode_image(file, 20, 24))


def test_the_hash_is_of_the_files(both, data_home, small):
    raw, jpeg = both
    jpeg.verify()
    hashes = {raw.content_hash, jpeg.content_hash}
    hashes.add(add_dataset("resized", small, size=SIZE, resize=25, store="jpeg").content_hash)
    pool = add_dataset("pool", small, size=SIZE, store="jpeg", workers=2)
    assert pool.content_hash == jpeg.content_hash
    image = next(small.glob("test/1/*.jpg"))
    image.write_bytes(image.read_bytes() + b"\0")  # not a pixel changes
    hashes.add(add_dataset("longer", small, size=SIZE, store="jpeg").content_hash)
    assert len(hashes) == 4


def test_duplicates_are_counted(data_home, small):
    copy = next(small.glob("train/1/*.jpg"))
    (small / "test/1/copy.jpg").write_bytes(copy.read_bytes())
    found = add_dataset("jpeg", small, size=SIZE, store="jpeg", max_duplicates=0.1).meta.duplicates
    assert (found.test_in_train, found.within_train, found.within_test) == (1, 0, 0)


def test_a_file_that_no_longer_decodes_names_the_dataset(both):
    _, jpeg = both
    path = sorted(jpeg.folder.glob("test_images-*.arrow"))[0]
    path.write_bytes(path.read_bytes().replace(b"\xff\xd8", b"\xff\x00"))
    with pytest.raises(UserError, match=r"damaged dataset .*test image 0"):
        PackedDataset.open(jpeg.folder).images("test")[[0, 1, 2]]
    path.unlink()


def test_it_is_chosen_where_pixels_are_too_many(data_home, small, monkeypatch, capsys):
    assert add_dataset("few", small, size=SIZE).meta.store == "raw"
    assert "stored as JPEG" not in capsys.readouterr().err
    monkeypatch.setattr(packing, "RAW_BYTES", 60_000)
    assert add_dataset("many", small, size=SIZE).meta.store == "jpeg"
    assert "kB of pixels, more than 60 kB: stored as JPEG files" in capsys.readouterr().err
    assert add_dataset("told", small, size=SIZE, store="raw").meta.store == "raw"
    with pytest.raises(UserError, match="--store tiff: legal are auto, raw, jpeg"):
        add_dataset("no", small, size=SIZE, store="tiff")


@pytest.mark.parametrize(("free", "size", "store"), [(40_000, SIZE, "jpeg"), (7_000, 8, None)])
def test_it_is_chosen_where_pixels_have_no_room(
    data_home, small, monkeypatch, capsys, free, size, store
):
    """Not where images are so small that files of them would take more."""
    usage = packing.shutil.disk_usage("/")._replace(free=free)
    monkeypatch.setattr(packing.shutil, "disk_usage", lambda path: usage)
    if store is None:
        with pytest.raises(UserError, match=r"kB needed, 7 kB free"):
            add_dataset("many", small, size=size)
        return
    assert add_dataset("many", small, size=size).meta.store == "jpeg"
    assert "only 40 kB are free: stored as JPEG" in capsys.readouterr().err


@pytest.mark.parametrize("size", [1, 8, SIZE])
def test_files_with_more_than_pixels(data_home, tmp_path, size):
    """Comments are as long as anybody likes, and the header of one pixel is longer than it."""
    for number in range(6):
        path = tmp_path / "commented" / str(number % 2) / f"{number}.jpg"
        image = Image.fromarray(picture(np.random.default_rng(number), number, 24, 24))
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, comment="x" * 60_000)
        image.resize((1, 1)).save(path.with_name(f"{number}pixel.jpg"))
    raw, jpeg = (
        add_dataset(store, tmp_path / "commented", size=size, store=store)
        for store in ("raw", "jpeg")
    )
    jpeg.verify()
    difference = jpeg.images("train")[:].astype(int) - raw.images("train")
    assert abs(difference).mean() < 16
    assert max(len(file) for file in jpeg.images("train").files()) < 3000
