"""Random resized crops: the boxes that are drawn, and their pixels, against an image at a time."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch.nn import functional as F

from anynet_study.errors import UserError
from anynet_study.training import Recipe
from anynet_study.training.augment import BoxResizer, Preprocessor, with_boxes

CPU = torch.device("cpu")
MEAN, STD = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])


def drawn(count: int, side: int, **keys: object) -> np.ndarray:
    """(5, count): top, left, flip, height, width."""
    generator = torch.Generator().manual_seed(3)
    recipe = Recipe(crop="resized", **keys)  # type: ignore[arg-type]
    return with_boxes(torch.rand(1, 3, count, generator=generator), recipe, side, generator)[
        0
    ].numpy()


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


def test_areas_and_ratios_are_those_of_the_usual_procedure():
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


def test_places_are_even():
    top, _, _, height, _ = drawn(20_000, 40)
    for room in (5, 12):
        counts = np.bincount(top[40 - height == room].astype(int), minlength=room + 1)
        assert len(counts) == room + 1
        assert counts.min() > 0.5 * counts.mean()


@pytest.mark.parametrize(
    ("ratio", "height", "width"), [((2, 3), 10, 20), ((0.2, 0.5), 20, 10), ((0.5, 2), 20, 20)]
)
def test_where_no_box_fits_the_largest_central_one_is_taken(ratio, height, width):
    # All of the image, in another shape: no box of this area lies in it but the whole.
    boxes = drawn(20, 20, crop_area=(1.0, 1.0), crop_ratio=ratio)
    if ratio != (0.5, 2):
        assert (boxes[3] == height).all()
        assert (boxes[4] == width).all()
    assert (boxes[0] <= 20 - boxes[3]).all()


def pictures(count: int, side: int) -> torch.Tensor:
    generator = np.random.default_rng(side)
    return torch.from_numpy(generator.integers(0, 256, (count, side, side, 3), dtype=np.uint8))


@pytest.mark.parametrize(("side", "resolution"), [(12, 12), (23, 9), (9, 17), (40, 7), (64, 56)])
@pytest.mark.parametrize("flip", [True, False])
def test_pixels_are_those_of_an_image_at_a_time(side, resolution, flip):
    images, draws = pictures(30, side), torch.from_numpy(drawn(60, side))
    rows = torch.arange(60) % 30
    recipe = Recipe(crop="resized", resolution=resolution, flip=flip)
    if resolution > side:
        with pytest.raises(UserError, match="exceeds the images'"):
            recipe.resolved(side, 10)
        resolved = recipe.resolved(resolution, 10)
    else:
        resolved = recipe.resolved(side, 10)
    batch = Preprocessor(resolved, MEAN.numpy(), STD.numpy()).train(images, rows, draws)
    expected = []
    for row, (top, left, chance, height, width) in zip(
        rows.tolist(), draws.T.tolist(), strict=True
    ):
        image = (images[row].double() / 255 - MEAN) / STD
        box = image[int(top) : int(top + height), int(left) : int(left + width)]
        cut = F.interpolate(
            box.permute(2, 0, 1)[None], (resolution, resolution), mode="bilinear", antialias=True
        )[0]
        expected.append(cut.flip(2) if flip and chance < 0.5 else cut)
    torch.testing.assert_close(batch.double(), torch.stack(expected), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("side", "resolution"), [(12, 12), (40, 17), (20, 31)])
def test_pixels_are_pillow_s_but_for_its_rounding(side, resolution):
    images, draws = pictures(20, side), drawn(20, side)
    top, left, _, height, width = torch.from_numpy(draws)
    boxes = torch.stack([top, left, height, width])
    ours = BoxResizer(side, resolution, CPU)(images, torch.arange(20), boxes, None)
    for image, cut, (y, x, h, w) in zip(images, ours, boxes.T.int().tolist(), strict=True):
        box = Image.fromarray(image[y : y + h, x : x + w].numpy())
        theirs = box.resize((resolution, resolution), Image.Resampling.BILINEAR)
        assert abs(cut.numpy() - np.asarray(theirs, float)).max() <= 1.01  # it rounds twice


def test_an_image_does_not_depend_on_the_others(monkeypatch):
    images, draws = pictures(20, 24), torch.from_numpy(drawn(20, 24))
    preprocess = Preprocessor(Recipe(crop="resized").resolved(24, 10), MEAN.numpy(), STD.numpy())
    together = preprocess.train(images, torch.arange(20), draws)
    alone = [preprocess.train(images, torch.tensor([n]), draws[:, n : n + 1]) for n in range(20)]
    assert torch.equal(together, torch.cat(alone))
    monkeypatch.setattr("anynet_study.training.augment.CACHED", 1)
    assert torch.equal(together, preprocess.train(images, torch.arange(20), draws))


def test_tests_see_the_centre():
    recipe = Recipe(crop="resized", resolution=8).resolved(12, 10)
    seen = Preprocessor(recipe, MEAN.numpy(), STD.numpy()).test(pictures(3, 12))
    expected = (pictures(3, 12)[:, 2:10, 2:10].float() / 255 - MEAN) / STD
    torch.testing.assert_close(seen, expected.permute(0, 3, 1, 2), atol=2e-6, rtol=1e-5)
