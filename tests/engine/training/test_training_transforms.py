"""The 17 test-time transforms against Pillow, SciPy and colorsys, an image at a time."""

import colorsys
import hashlib
import io
import math
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from scipy import ndimage
from scipy.fft import dctn, idctn

from anynet_study.data.seeded import seeded_uniform
from anynet_study.engine.training import transforms
from anynet_study.engine.training.operators import (
    DRAWS_PER_IMAGE,
    TRANSFORMS_VERSION,
    TransformName,
)
from anynet_study.engine.training.transforms import transformed, warp

Picture = Image.Image
Pixels = np.ndarray


def pictures(count: int, side: int) -> Pixels:
    """Smooth, noisy, flat, dark and gray images in turn."""
    generator = np.random.default_rng(side)
    made = generator.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    for number in range(count):
        match number % 5:
            case 0:
                made[number] = ndimage.gaussian_filter(made[number], (2, 2, 0)) * 2
            case 1:
                made[number] = generator.integers(0, 256, 3)
            case 2:
                made[number] //= 8
            case 3:
                made[number] = made[number, :, :, :1]
    return made


def bulk(name: TransformName, images: Pixels, draws: Pixels) -> Pixels:
    return transformed(torch.from_numpy(images), draws, name).numpy()


def jittered(picture: Picture, u: Pixels) -> Pixels:
    factors = 0.6 + 0.8 * u[:3]
    for enhance, factor in zip(
        (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color), factors, strict=True
    ):
        picture = enhance(picture).enhance(factor)
    turned = []
    for pixel in np.asarray(picture).reshape(-1, 3) / 255:
        hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
        turned.append(colorsys.hsv_to_rgb((hue - 0.1 + 0.2 * u[3]) % 1.0, saturation, value))
    return np.rint(255 * np.array(turned)).reshape(*picture.size, 3)


def blurred(picture: Picture, u: Pixels) -> Pixels:
    sigma = 0.1 + 1.9 * u[0]
    pixels = np.asarray(picture, np.float64)
    return np.rint(
        ndimage.gaussian_filter(pixels, (sigma, sigma, 0), mode="nearest", radius=(6, 6, 0))
    )


def moved(picture: Picture, u: Pixels) -> Picture:
    """The inverse of shift . turn . scale about the centre, by matrices."""
    side = picture.width
    angle, scale = math.radians(-30 + 60 * u[0]), 0.8 + 0.4 * u[3]
    cosine, sine = scale * math.cos(angle), scale * math.sin(angle)
    middle = np.array([[1, 0, side / 2], [0, 1, side / 2], [0, 0, 1]])
    shift = np.array(
        [[1, 0, side * (0.2 * u[1] - 0.1)], [0, 1, side * (0.2 * u[2] - 0.1)], [0, 0, 1]]
    )
    turn = np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]])
    back = np.linalg.inv(shift @ middle @ turn @ np.linalg.inv(middle))
    return picture.transform(
        picture.size, Image.Transform.AFFINE, tuple(back[:2].ravel()), Image.Resampling.BILINEAR
    )


def tilted(picture: Picture, u: Pixels) -> Picture:
    """The eight coefficients from the four pairs of corners, by solving the linear system."""
    side = picture.width
    corners = np.array([[0, 0], [side, 0], [side, side], [0, side]], float)
    inwards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * u.reshape(4, 2) * side / 4
    rows, values = [], []
    for (x, y), (to_x, to_y) in zip(corners + inwards, corners, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -to_x * x, -to_x * y], [0, 0, 0, x, y, 1, -to_y * x, -to_y * y]]
        values += [to_x, to_y]
    coefficients = tuple(np.linalg.solve(rows, values))
    return picture.transform(
        picture.size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BILINEAR
    )


def cropped(picture: Picture, u: Pixels) -> Picture:
    side = picture.width
    area = 0.08 + 0.92 * u[0]
    ratio = math.exp(math.log(3 / 4) + u[1] * (math.log(4 / 3) - math.log(3 / 4)))
    width, height = min(1.0, math.sqrt(area * ratio)), min(1.0, math.sqrt(area / ratio))
    left, top = u[2] * (1 - width), u[3] * (1 - height)
    box = (side * left, side * top, side * (left + width), side * (top + height))
    return picture.resize(picture.size, Image.Resampling.BILINEAR, box=tuple(np.clip(box, 0, side)))


#: What one image becomes with its draws.
REFERENCE: dict[str, Callable[[Picture, Pixels], Picture | Pixels]] = {
    "identity": lambda picture, u: picture,
    "sharpness": lambda picture, u: ImageEnhance.Sharpness(picture).enhance(2.0),
    "contrast": lambda picture, u: ImageEnhance.Contrast(picture).enhance(0.1 + 1.8 * u[0]),
    "equalise": lambda picture, u: ImageOps.equalize(picture),
    "grayscale": lambda picture, u: picture.convert("L").convert("RGB"),
    "horizontal_flip": lambda picture, u: ImageOps.mirror(picture),
    "vertical_flip": lambda picture, u: ImageOps.flip(picture),
    "invert": lambda picture, u: ImageOps.invert(picture),
    "posterise": lambda picture, u: ImageOps.posterize(picture, 2),
    "solarise": lambda picture, u: ImageOps.solarize(picture, 128),
    "sharpness_change": lambda picture, u: ImageEnhance.Sharpness(picture).enhance(
        0.1 + 1.8 * u[0]
    ),
    "blur": blurred,
    "colour_jitter": jittered,
    "rotation": lambda picture, u: picture.rotate(-30 + 60 * u[0], Image.Resampling.BILINEAR),
    "affine": moved,
    "perspective": tilted,
    "resized_crop": cropped,
}
#: Ours less theirs: Pillow rounds a warp down, we round to nearest; its resizing rounds twice.
BOUNDS = {"rotation": (0, 1), "affine": (0, 1), "perspective": (0, 1), "resized_crop": (-1, 1)}


#: Without jpeg, which has a test of its own.
OF_PAPER_4 = [name for name in get_args(TransformName) if name != "jpeg"]


@pytest.mark.parametrize("side", [8, 17])
@pytest.mark.parametrize("name", OF_PAPER_4)
def test_equals_an_independent_reference(name: TransformName, side: int) -> None:
    images = pictures(20, side)
    draws = np.random.default_rng(7).random((20, DRAWS_PER_IMAGE))
    expected = [
        np.asarray(REFERENCE[name](Image.fromarray(image), u))
        for image, u in zip(images, draws, strict=True)
    ]
    apart = bulk(name, images, draws).astype(int) - np.array(expected).astype(int)
    low, high = BOUNDS.get(name, (0, 0))
    assert low <= apart.min() <= apart.max() <= high


@pytest.mark.parametrize("name", get_args(TransformName))
def test_an_image_does_not_depend_on_the_others(
    name: TransformName, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, draws = pictures(20, 16), np.random.default_rng(1).random((20, DRAWS_PER_IMAGE))
    together = bulk(name, images, draws)
    assert together.dtype == np.uint8
    assert together.shape == images.shape
    chosen = [3, 7, 19]
    assert np.array_equal(together[chosen], bulk(name, images[chosen], draws[chosen]))
    monkeypatch.setattr(transforms, "PIXELS", 3 * 16**2)
    assert np.array_equal(together, bulk(name, images, draws))


def test_pixels_are_those_of_this_version() -> None:
    """Other pixels are another test: raise VERSION in the catalog with this digest."""
    images = (256 * seeded_uniform((20, 24, 24, 3), "pixels")).astype(np.uint8)
    draws = seeded_uniform((20, DRAWS_PER_IMAGE), "draws")
    pixels = [bulk(name, images, draws).tobytes() for name in OF_PAPER_4]
    assert TRANSFORMS_VERSION == 1
    assert hashlib.sha256(b"".join(pixels)).hexdigest()[:16] == "47c01acec33e51e5"
    compressed = bulk("jpeg", images, draws).tobytes()
    assert hashlib.sha256(compressed).hexdigest()[:16] == "aebad5b90c3c55b9"


def of_the_standard(image: Pixels, quality: int) -> Pixels:
    """JPEG by its definition, block by block, with SciPy's cosine transform in float64."""
    side = image.shape[0]
    whole = np.pad(image, [(0, -side % 8)] * 2 + [(0, 0)], mode="edge").astype(float)
    to_ycc = np.array(
        [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]]
    )
    np.testing.assert_allclose(transforms.TO_YCC / 65536, to_ycc, atol=2e-5)
    planes = np.floor(whole @ (transforms.TO_YCC / 65536).T + 0.5) - np.array([128, 0, 0])
    tables = [transforms.QUANTISATION[0], *[transforms.QUANTISATION[1]] * 2]
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    for channel, table in enumerate(tables):
        steps = np.clip((table * scale + 50) // 100, 1, 255)
        for row in range(0, len(planes), 8):
            for column in range(0, len(planes), 8):
                block = planes[row : row + 8, column : column + 8, channel]
                waves = dctn(block, norm="ortho") + 2.0**-transforms.NEARLY_BITS
                kept = np.floor(waves / steps + 0.5) * steps
                block[...] = np.rint(idctn(kept, norm="ortho"))
    back = (planes + np.array([128, 0, 0])) @ np.linalg.inv(to_ycc).T
    return np.clip(np.rint(back), 0, 255)[:side, :side]


@pytest.mark.parametrize(("side", "quality"), [(8, 10), (17, 10), (24, 50), (24, 95)])
def test_jpeg_is_that_of_its_standard_and_near_to_pillows(side: int, quality: int) -> None:
    images = np.random.default_rng(side).integers(0, 256, (12, side, side, 3), dtype=np.uint8)
    images[::2] = ndimage.gaussian_filter(images[::2], (0, 1, 1, 0))
    draws = np.zeros((12, DRAWS_PER_IMAGE))
    stated = {"quality": quality}
    ours = transformed(torch.from_numpy(images), draws, "jpeg", stated).numpy().astype(int)
    expected = np.array([of_the_standard(image, quality) for image in images])
    assert np.abs(ours - expected).max() <= 2
    theirs = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality, subsampling=0)
        theirs.append(np.asarray(Image.open(file)).astype(int))
    lost = np.abs(np.array(theirs) - images).mean()
    assert np.abs(ours - np.array(theirs)).mean() < max(0.05 * lost, 1.0)
    assert np.abs(ours - images).mean() == pytest.approx(lost, rel=0.05)


def test_the_horizon_of_a_tilted_image_is_black() -> None:
    images = torch.full((1, 8, 8, 3), 200, dtype=torch.uint8)
    to_infinity = np.array([[1.0, 0, 0, 0, 1, 0, -2, 0]])  # the denominator is 0 at x = 1/2
    seen = warp(images, to_infinity)[0, :, :, 0]
    assert set(seen.unique().tolist()) <= {0, 200}
    assert (seen[:, 4:] == 0).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("side", [32, 49])  # as a divisor, a power of two rounds nothing
def test_a_gpu_gives_the_same_pixels(side: int) -> None:
    images, draws = pictures(20, side), np.random.default_rng(3).random((20, DRAWS_PER_IMAGE))
    for name in get_args(TransformName):
        on_gpu = transformed(torch.from_numpy(images).cuda(), draws, name)
        assert np.array_equal(on_gpu.cpu().numpy(), bulk(name, images, draws)), name
