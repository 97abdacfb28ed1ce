"""Decoding: one rule for each kind of pixel; files that lie are listed, at no great cost."""

import io
import struct
import subprocess
import sys
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniatures import save, write_miniature
from PIL import Image

from anynet_study.data import add_dataset
from anynet_study.data.packed.form import Form, moments_of
from anynet_study.data.packed.jpeg import decode_stored
from anynet_study.data.packing.decoding import decode_chunk
from anynet_study.data.source import images
from anynet_study.data.source.encoded import UnreadableImageError
from anynet_study.data.source.images import (
    Decoded,
    Decoder,
    decode_image,
    fit,
)
from anynet_study.data.source.member import Member


def read_image(path: Path, size: int) -> np.ndarray:
    return decode_image(path.read_bytes(), size)


@pytest.fixture
def gradient() -> Image.Image:
    """8x8 RGB, every pixel different."""
    return Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))


def written(tmp_path: Path, image: Image.Image, name: str = "x.png", **options: object) -> Path:
    image.save(tmp_path / name, **options)
    return tmp_path / name


def test_pixels_of_an_image_of_the_right_size_are_untouched(tmp_path, gradient):
    path = written(tmp_path, gradient)
    np.testing.assert_array_equal(read_image(path, 8), np.asarray(gradient))


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "YCbCr"])
def test_plain_modes_convert_as_pillow_does(tmp_path, gradient, mode):
    image = gradient.convert(mode)
    path = written(tmp_path, image, "x.tif")
    np.testing.assert_array_equal(read_image(path, 8), np.asarray(image.convert("RGB")))


def test_alpha_is_laid_over_white(tmp_path):
    pixels = np.zeros((4, 4, 4), np.uint8)
    pixels[..., 0], pixels[..., 3] = 255, 128
    path = written(tmp_path, Image.fromarray(pixels))
    assert read_image(path, 4)[0, 0].tolist() == [255, 127, 127]


def test_a_transparent_palette_entry_is_white(tmp_path):
    image = Image.new("P", (4, 4), 0)
    image.putpalette([10, 20, 30, 200, 100, 0])
    image.putpixel((1, 0), 1)
    path = written(tmp_path, image, transparency=0)
    found = read_image(path, 4)
    assert found[0, 0].tolist() == [255, 255, 255]
    assert found[0, 1].tolist() == [200, 100, 0]


def test_16_bit_grey_is_scaled_over_its_full_range(tmp_path):
    values = np.array([[0, 256, 32768, 65535]] * 4, np.uint16)
    path = written(tmp_path, Image.fromarray(values))
    assert read_image(path, 4)[0, :, 0].tolist() == [0, 1, 128, 255]


def test_exif_orientation_is_applied(tmp_path, gradient):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by 90 degrees
    path = written(tmp_path, gradient, exif=exif)
    turned = np.rot90(np.asarray(gradient), k=-1)
    np.testing.assert_array_equal(read_image(path, 8), turned)


def test_the_format_is_what_the_bytes_say(tmp_path, gradient):
    path = written(tmp_path, gradient, "inside.JPEG", format="PNG")
    np.testing.assert_array_equal(read_image(path, 8), np.asarray(gradient))


@pytest.mark.parametrize(("width", "height"), [(16, 8), (8, 16)])
def test_only_a_crop_where_the_shorter_side_fits(width, height):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    top, left = (height - 8) // 2, (width - 8) // 2
    expected = pixels[top : top + 8, left : left + 8]
    np.testing.assert_array_equal(fit(Image.fromarray(pixels), 8), expected)


def test_equal_to_resize_then_crop_where_both_are_whole_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (32, 64, 3), np.uint8)
    image = Image.fromarray(pixels)
    resized = image.resize((32, 16), Image.Resampling.BILINEAR)
    # Resizing the square alone sees no pixels beyond its left and right borders.
    inner = (slice(None), slice(1, -1))
    expected = np.asarray(resized.crop((8, 0, 24, 16)))
    np.testing.assert_array_equal(fit(image, 16)[inner], expected[inner])


@pytest.mark.parametrize("resize", [20, 24])
def test_the_shorter_side_may_be_larger_than_the_cut(resize):
    """The middle of what the fit without a cut gives, which sees beyond each border."""
    pixels = np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8)
    image = Image.fromarray(pixels)
    margin = (resize - 16) // 2
    whole = fit(image, resize)[margin : margin + 16, margin : margin + 16].astype(int)
    difference = abs(fit(image, 16, resize) - whole)[1:-1, 1:-1]
    assert difference.max() <= 1  # the filter's coefficients are rounded
    assert fit(image.resize((resize, resize)), 16, resize).shape == (16, 16, 3)


def test_large_photos_are_decoded_at_a_fraction(monkeypatch):
    """Twice the resolution needed is left: the result is that of the whole but for rounding."""
    low = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    photo = Image.fromarray(low).resize((2560, 1920), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    photo.save(file, "JPEG", quality=95)
    sizes = []
    monkeypatch.setattr(images, "to_rgb", lambda image: sizes.append(image.size) or image)
    small = decode_image(file.getvalue(), 48).astype(int)
    monkeypatch.setattr(images, "LARGE_PIXELS", 2560 * 1920)
    whole = decode_image(file.getvalue(), 48).astype(int)
    assert sizes == [(320, 240), (2560, 1920)]
    assert abs(small - whole).max() <= 4


def test_a_sliver_needs_little_memory(tmp_path):
    path = written(tmp_path, Image.new("RGB", (20_000, 2), (9, 8, 7)))
    assert read_image(path, 64)[63, 63].tolist() == [9, 8, 7]


NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def png(width: int, height: int, *chunks: bytes) -> bytes:
    """A PNG that claims to be of that size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join((chunk(b"IHDR", header), *chunks, chunk(b"IEND", b"")))


def jpeg_claiming(width: int, height: int) -> bytes:
    """A JPEG of 64 x 64 pixels whose header says otherwise."""
    content = encoded(NOISE, "JPEG")
    place = content.index(b"\xff\xc0") + 5
    return content[:place] + struct.pack(">HH", height, width) + content[place + 4 :]


def tiff_with(tag: int, count: int, value: int) -> bytes:
    """A TIFF in which one tag says something else."""
    content = bytearray(encoded(NOISE, "TIFF"))
    (start,) = struct.unpack("<I", content[4:8])
    (tags,) = struct.unpack("<H", content[start : start + 2])
    for number in range(tags):
        place = start + 2 + 12 * number
        if struct.unpack("<H", content[place : place + 2]) == (tag,):
            content[place + 2 : place + 12] = struct.pack("<HII", 4, count, value)
    return bytes(content)


def bmp_claiming(width: int, height: int) -> bytes:
    content = bytearray(encoded(NOISE, "BMP"))
    content[18:26] = struct.pack("<ii", width, height)
    return bytes(content)


ZEROS = zlib.compress(bytes(200_000_000), 9)
IDAT = chunk(b"IDAT", zlib.compress(bytes(100)))
LYING = {
    "PNG without the pixels it claims": png(9_000, 9_000, IDAT),
    "PNG that is 90,000 pixels wide": png(90_000, 90_000, IDAT),
    "PNG of no width": png(0, 10, IDAT),
    "PNG whose text is a bomb": png(8, 8, chunk(b"zTXt", b"a\0\0" + ZEROS), IDAT),
    "PNG whose profile is a bomb": png(8, 8, chunk(b"iCCP", b"a\0\0" + ZEROS), IDAT),
    "PNG with a chunk of 2 GB": png(8, 8) + struct.pack(">I", 0x7FFFFFFF) + b"IDAT",
    "JPEG without the pixels it claims": jpeg_claiming(9_000, 9_000),
    "JPEG of 65,500 x 65,500 pixels": jpeg_claiming(65_500, 65_500),
    "JPEG of no height": jpeg_claiming(64, 0),
    "TIFF of 4 billion columns": tiff_with(256, 1, 0xFFFFFFFF),
    "TIFF whose strip is elsewhere": tiff_with(273, 1, 0xFFFFFF00),
    "TIFF with 4 billion strips": tiff_with(273, 0xFFFFFFFF, 8),
    "BMP of 2 billion columns": bmp_claiming(0x7FFFFFFF, 64),
    "BMP without the pixels it claims": bmp_claiming(9_000, 9_000),
    "WebP of 16,383 x 16,383 pixels": b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0\x2f\xff\xff\xff\x0f"
    + bytes(8),
    "PPM of 99,999 x 99,999 pixels": b"P6 99999 99999 255\n" + bytes(64),
    "PPM without the pixels it claims": b"P6 9000 9000 255\n" + bytes(64),
    "PPM of very many digits": b"P6 " + b"9" * 5000 + b" 8 255\n",
    "PDF": b"%PDF-1.7\n1 0 obj\n",
    "nothing": b"",
    "text": b"<html>not found</html>",
    "half a JPEG": encoded(NOISE, "JPEG")[:1500],
    "header of a JPEG": encoded(NOISE, "JPEG")[:20],
    "half a GIF": encoded(NOISE, "GIF")[:300],
    "floating point": encoded(Image.new("F", (8, 8)), "TIFF"),
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nquit\n",
    "PNG of 10,000 x 10,000 pixels": png(10_000, 10_000, IDAT),
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "ICO": encoded(NOISE, "ICO"),
    "script": b"#!/bin/sh\nrm -rf /\n",
}


@pytest.mark.parametrize("name", LYING, ids=lambda name: name.replace(" ", "-"))
def test_lying_files_are_unreadable_in_one_line(name):
    with pytest.raises(UnreadableImageError) as caught:
        decode_image(LYING[name], 8)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_they_claim_is_not_paid_for(tmp_path):
    """Nor in total: the largest of the sizes they claim is 270 MB and more."""
    for number, content in enumerate(LYING.values()):
        (tmp_path / f"{number}.img").write_bytes(content)
    script = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from anynet_study.data.source.images import UnreadableImageError, decode_image\n"
        # `ru_maxrss` begins with the memory of the process that started this one.
        "status = Path('/proc/self/status')\n"
        "def most(): return int(re.search(r'VmHWM:\\s+(\\d+) kB', status.read_text())[1])\n"
        "before = most()\n"
        "for path in Path(sys.argv[1]).iterdir():\n"
        "    try: decode_image(path.read_bytes(), 8)\n"
        "    except UnreadableImageError: pass\n"
        "print(most() - before)\n"
    )
    kilobytes = subprocess.check_output([sys.executable, "-c", script, tmp_path])
    assert int(kilobytes) < 100_000


SOUND: dict[str, Callable[[], bytes]] = {
    "EXIF data of garbage": lambda: encoded(NOISE, "PNG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff"),
    "a strip of 4 GB": lambda: tiff_with(279, 1, 0xFFFFFFF0),
    "orientation of 77": lambda: encoded(NOISE, "PNG", exif=orientation(77)),
    "bytes after the end": lambda: encoded(NOISE, "PNG") + b"PK\3\4" + bytes(1000),
    "a second frame": lambda: encoded(
        NOISE, "PNG", save_all=True, append_images=[Image.new("RGB", (64, 64))]
    ),
    "a thousand pages": lambda: encoded(
        NOISE, "TIFF", save_all=True, append_images=[Image.new("1", (1, 1))] * 1000
    ),
}


def orientation(value: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND, ids=lambda name: name.replace(" ", "-"))
def test_what_does_no_harm_is_read(name):
    """Of several images in a file the first is read."""
    np.testing.assert_array_equal(decode_image(SOUND[name](), 64), np.asarray(NOISE))


@pytest.mark.slow
def test_they_are_listed_by_name_and_nothing_else_suffers(data_home, tmp_path, monkeypatch):
    source = write_miniature("concrete", tmp_path)
    plain = add_dataset("plain", source, size=8)
    for number, content in enumerate(LYING.values()):
        (source / "Positive" / f"zz{number:02d}.jpg").write_bytes(content)
    large = source / "Positive" / "zz99.jpg"
    save(large, np.random.default_rng(0), 0)
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 10_000)
    with large.open("r+b") as file:
        file.truncate(20_000)
    for workers in (1, 2):
        dataset = add_dataset(f"hostile{workers}", source, size=8, max_broken=0.6, workers=workers)
        broken = {image.image: image.reason for image in dataset.meta.quarantined}
        listed = len(LYING) + (workers == 1)  # the limit of other processes is their own
        assert len(broken) == listed
        assert all(name.startswith("Positive/zz") for name in broken)
        total = sum(dataset.counts(split).images for split in ("train", "test"))
        assert total == (workers == 2) + sum(plain.counts(s).images for s in ("train", "test"))
        if workers == 1:
            assert "more than 10000 are not read" in broken["Positive/zz99.jpg"]


@pytest.mark.parametrize("options", [{}, {"progressive": True, "optimize": True, "quality": 1}])
def test_the_emptiest_of_jpegs_is_long_enough(options):
    black = encoded(Image.new("RGB", (3000, 2000)), "JPEG", **options)
    assert decode_image(black, 8).max() <= 1


def exact(image: np.ndarray) -> list[list[int]]:
    channels = [[int(value) for value in image[..., c].flat] for c in range(3)]
    return [
        [sum(values) for values in channels],
        [sum(v * v for v in values) for values in channels],
    ]


@given(st.integers(0, 3), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_moments_are_exact(count, height, width, seed):
    images = np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)
    found = moments_of(images)
    assert (found.shape, found.dtype) == ((count, 2, 3), np.int64)
    assert found.tolist() == [exact(image) for image in images]


def test_moments_of_the_brightest_images_of_the_largest_size():
    white = np.full((1, 1024, 1024, 3), 255, np.uint8)
    assert moments_of(white).tolist() == [[[255 << 20] * 3, [255**2 << 20] * 3]]


@pytest.fixture
def files(tmp_path: Path) -> list[Member]:
    """Seven photos, the third of them broken."""
    random = np.random.default_rng(0)
    paths = [tmp_path / f"{number}.jpg" for number in range(7)]
    for number, path in enumerate(paths):
        save(path, random, number, 40 + number, 50)
    paths[2].write_bytes(b"no image")
    return [Member(str(path)) for path in paths]


@pytest.mark.parametrize("store", ["raw", "jpeg"])
def test_moments_are_of_what_is_stored(files, store):
    form = Form(32, 32, store)
    chunk = decode_chunk(files, form)
    assert (chunk.count, list(chunk.broken)) == (7, [2])
    assert len(chunk.lengths) == len(chunk.moments) == len(chunk.contents) == 6
    stored = np.split(chunk.data, np.cumsum(chunk.lengths)[:-1])
    for data, moments in zip(stored, chunk.moments, strict=True):
        image = data if store == "raw" else decode_stored(data.tobytes(), form)
        assert moments.tolist() == exact(image.reshape(32, 32, 3))


@pytest.mark.parametrize("store", ["raw", "jpeg"])
def test_no_image_is_kept_while_the_next_is_decoded(files, store, monkeypatch):
    """Or the allocator takes fresh memory for each, which costs a quarter of the decoding."""
    decode = Decoder.decode
    images: list[weakref.ref[Image.Image]] = []

    def decoded(self: Decoder, member: Member) -> Decoded:
        assert [image() for image in images] == [None] * len(images)
        found = decode(self, member)
        images.append(weakref.ref(found.image))
        return found

    monkeypatch.setattr(Decoder, "decode", decoded)
    form = Form(32, 32, store)
    decode_chunk(files, form)
    assert len(images) == 6
