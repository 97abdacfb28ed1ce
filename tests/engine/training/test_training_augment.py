"""Images as the network sees them, against an image at a time; and the boxes of resized crops."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from anynet_study.engine.training import Preprocessor, Recipe
from anynet_study.engine.training.augment import with_boxes

MEAN, STD = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])


def pictures(count: int, side: int = 12) -> Tensor:
    generator = np.random.default_rng(side)
    return torch.from_numpy(generator.integers(0, 256, (count, side, side, 3), dtype=np.uint8))


def preprocess(side: int = 12, **recipe: object) -> Preprocessor:
    """For images of `side` pixels."""
    resolved = Recipe(**recipe).resolved(side, 10)  # type: ignore[arg-type]
    return Preprocessor(resolved, MEAN.numpy(), STD.numpy())


def normalised(images: Tensor) -> Tensor:
    """(N, 3, S, S) in double precision."""
    return ((images.double() / 255 - MEAN) / STD).permute(0, 3, 1, 2)


@pytest.mark.parametrize(
    ("crop", "padding", "resolution"), [("pad", 3, 12), ("random", 0, 9), ("pad", 2, 8)]
)
@pytest.mark.parametrize("flip", [True, False])
def test_crops_are_those_of_an_image_at_a_time(
    crop: str, padding: int, resolution: int, flip: bool
) -> None:
    draws = torch.rand(3, 40, generator=torch.Generator().manual_seed(5))
    rows = torch.arange(40).flip(0)  # the last image first
    bulk = preprocess(crop=crop, padding=padding, resolution=resolution, flip=flip)
    batch = bulk.train(pictures(40), rows, draws)
    expected = []
    for image, (top, left, chance) in zip(normalised(pictures(40)).flip(0), draws.T, strict=True):
        padded = F.pad(image, (padding,) * 4)
        places = padded.shape[1] - resolution + 1
        y, x = int(top * places), int(left * places)
        cut = padded[:, y : y + resolution, x : x + resolution]
        expected.append(cut.flip(2) if flip and chance < 0.5 else cut)
    torch.testing.assert_close(batch.double(), torch.stack(expected), atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("crop", ["pad", "resized"])
def test_images_beyond_two_gigabytes_are_found(crop: str) -> None:
    """Places are 64-bit numbers. Memory that is never written takes none."""
    images = torch.empty(1_500_000, 32, 32, 3, dtype=torch.uint8)
    images[-1] = torch.arange(32, dtype=torch.uint8)[:, None, None]
    draws = torch.tensor([0.0, 0.0, 0.9, 32.0, 32.0])[:, None]
    bulk = preprocess(32, crop=crop, padding=0)
    assert images.nbytes > 1 << 32
    (batch,) = bulk.train(images, torch.tensor([len(images) - 1]), draws)
    torch.testing.assert_close(batch, bulk.train(images[-1:].clone(), torch.tensor([0]), draws)[0])
    assert len(batch[0].unique()) == 32


def test_every_offset_and_both_directions_occur() -> None:
    recipe = Recipe(crop="random", resolution=10, flip=True).resolved(12, 10)
    marked = torch.arange(144, dtype=torch.uint8).reshape(1, 12, 12, 1).repeat(900, 1, 1, 3)
    batch = Preprocessor(recipe, np.zeros(3), np.ones(3)).train(
        marked, torch.arange(900), torch.rand(3, 900, generator=torch.Generator().manual_seed(0))
    )
    corners = {tuple(torch.round(image[0, 0, ::9] * 255).int().tolist()) for image in batch}
    assert len(corners) == 3 * 3 * 2


@pytest.mark.parametrize("crop", ["random", "resized"])
def test_tests_see_the_centre(crop: str) -> None:
    seen = preprocess(crop=crop, resolution=8).test(pictures(40))
    expected = normalised(pictures(40)[:, 2:10, 2:10])
    torch.testing.assert_close(seen.double(), expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize(("share", "first", "length"), [(0.875, 1, 14), (0.5, 4, 8), (1.0, 0, 16)])
def test_tests_see_the_middle_of_the_resized_image(share: float, first: int, length: int) -> None:
    """As torch resizes the central square, whatever the crop in training."""
    images = pictures(3, side=16)
    square = normalised(images)[:, :, first : first + length, first : first + length]
    expected = F.interpolate(square, (10, 10), mode="bilinear", antialias=True)
    for crop in ("resized", "pad", "random"):
        seen = preprocess(16, crop=crop, resolution=10, test_crop=share).test(images)
        torch.testing.assert_close(seen.double(), expected, atol=1e-5, rtol=1e-5)


def test_no_crop_is_the_identity_but_for_flips() -> None:
    whole = preprocess(crop="none", flip=False)
    trained = whole.train(pictures(40), torch.arange(40), torch.rand(3, 40))
    torch.testing.assert_close(trained, whole.test(pictures(40)))


# Resized crops.


def drawn(count: int, side: int, **keys: object) -> np.ndarray:
    """(5, count): top, left, flip, height, width."""
    generator = torch.Generator().manual_seed(3)
    recipe = Recipe(crop="resized", **keys)  # type: ignore[arg-type]
    draws = torch.rand(1, 3, count, generator=generator)
    return with_boxes(draws, recipe, side, generator)[0].numpy()


@settings(max_examples=30, deadline=None)
@given(
    side=st.integers(4, 300),
    area=st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)).map(sorted),
    ratio=st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)).map(sorted),
)
def test_boxes_are_whole_pixels_within_the_image(side, area, ratio):
    top, left, _, height, width = drawn(50, side, crop_area=area, crop_ratio=ratio)
    for first, length in ((top, height), (left, width)):
        assert (first == np.rint(first)).all()
        assert (length == np.rint(length)).all()
        assert first.min() >= 0
        assert length.min() >= 1
        assert (first + length).max() <= side


def test_areas_and_ratios_are_those_of_the_usual_procedure_and_places_are_even():
    """Against the rejection procedure in plain Python, with randomness of its own."""
    side, count = 200, 20_000
    _, _, _, height, width = drawn(count, side)
    generator = np.random.default_rng(0)
    sizes = []
    while len(sizes) < count:
        area = side**2 * generator.uniform(0.08, 1.0)
        ratio = math.exp(generator.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= side and 0 < high <= side:
            sizes.append((high, wide))
    high, wide = np.array(sizes).T
    for ours, theirs in ((height * width, high * wide), (width / height, wide / high)):
        levels = np.linspace(0.02, 0.98, 25)
        apart = np.searchsorted(np.sort(ours), np.quantile(theirs, levels)) / count - levels
        assert abs(apart).max() < 0.02  # 4 standard deviations of the difference
    top, _, _, height, _ = drawn(20_000, 40)
    for room in (5, 12):
        counts = np.bincount(top[40 - height == room].astype(int), minlength=room + 1)
        assert len(counts) == room + 1
        assert counts.min() > 0.5 * counts.mean()


@pytest.mark.parametrize(("ratio", "height", "width"), [((2, 3), 10, 20), ((0.2, 0.5), 20, 10)])
def test_where_no_box_fits_the_largest_central_one_is_taken(ratio, height, width):
    # All of the image, in another shape: no box of this area lies in it but the whole.
    boxes = drawn(20, 20, crop_area=(1.0, 1.0), crop_ratio=ratio)
    assert (boxes[3] == height).all()
    assert (boxes[4] == width).all()
    assert (boxes[0] <= 20 - height).all()


@pytest.mark.parametrize(("side", "resolution"), [(12, 12), (23, 9), (40, 7), (64, 56)])
@pytest.mark.parametrize("flip", [True, False])
def test_resized_pixels_are_those_of_an_image_at_a_time(side, resolution, flip):
    images, draws = pictures(30, side), torch.from_numpy(drawn(60, side))
    rows = torch.arange(60) % 30
    bulk = preprocess(side, crop="resized", resolution=resolution, flip=flip)
    batch = bulk.train(images, rows, draws)
    expected = []
    for row, draw in zip(rows.tolist(), draws.T, strict=True):
        top, left, _, height, width = draw.int().tolist()
        box = normalised(images[row : row + 1])[:, :, top : top + height, left : left + width]
        cut = F.interpolate(box, (resolution, resolution), mode="bilinear", antialias=True)[0]
        expected.append(cut.flip(2) if flip and draw[2] < 0.5 else cut)
    torch.testing.assert_close(batch.double(), torch.stack(expected), atol=1e-5, rtol=1e-5)
