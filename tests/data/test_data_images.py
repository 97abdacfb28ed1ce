"""Decoding: one rule a kind of pixel, and nothing hostile gets through."""

import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from anynet_study.data.source import images as images
from anynet_study.data.source.images import UnreadableImageError, decode_image, fit


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


def test_grey_with_alpha_is_laid_over_white(tmp_path):
    path = written(tmp_path, Image.new("LA", (4, 4), (0, 0)))
    assert (read_image(path, 4) == 255).all()


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


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims to be of that size and holds no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", len(header))
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
    )


def hostile_files(gradient: Image.Image) -> dict[str, bytes]:
    whole = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(whole, "JPEG")
    gif, floats = io.BytesIO(), io.BytesIO()
    gradient.save(gif, "GIF")
    Image.new("F", (8, 8)).save(floats, "TIFF")
    return {
        "empty": b"",
        "text": b"<html>not found</html>",
        "truncated": whole.getvalue()[: len(whole.getvalue()) // 2],
        "header only": whole.getvalue()[:20],
        "bomb that warns": png_header(10_000, 10_000),
        "bomb that raises": png_header(60_000, 60_000),
        "another format": gif.getvalue(),
        "floating point": floats.getvalue(),
        "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nquit\n",
    }


@pytest.mark.parametrize(
    "kind", sorted(hostile_files(Image.new("RGB", (8, 8)))), ids=lambda kind: kind.replace(" ", "-")
)
def test_hostile_files_are_unreadable_in_one_line(gradient, kind):
    with pytest.raises(UnreadableImageError) as caught:
        decode_image(hostile_files(gradient)[kind], 8)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_warning_filters_are_left_as_they_were(tmp_path, gradient):
    before = list(warnings.filters)
    read_image(written(tmp_path, gradient), 8)
    assert list(warnings.filters) == before
