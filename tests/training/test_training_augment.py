"""Bulk preprocessing against a plain image-at-a-time reference."""

import numpy as np
import pytest
import torch

from anynet_study.training import Recipe
from anynet_study.training.augment import Preprocessor

MEAN, STD = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])


def images(count: int = 40, side: int = 12) -> torch.Tensor:
    generator = np.random.default_rng(0)
    return torch.from_numpy(generator.integers(0, 256, (count, side, side, 3), dtype=np.uint8))


def reference(
    image: torch.Tensor, draws: torch.Tensor, padding: int, side: int, flip: bool
) -> torch.Tensor:
    """One image: normalise, pad with zeros, cut, mirror."""
    channels = ((image.double() / 255 - MEAN) / STD).permute(2, 0, 1)
    padded = torch.zeros(3, image.shape[0] + 2 * padding, image.shape[1] + 2 * padding)
    padded = padded.double()
    padded[:, padding : padding + image.shape[0], padding : padding + image.shape[1]] = channels
    places = padded.shape[1] - side + 1
    top, left = int(draws[0] * places), int(draws[1] * places)
    cut = padded[:, top : top + side, left : left + side]
    return cut.flip(2) if flip and draws[2] < 0.5 else cut


@pytest.mark.parametrize(
    ("crop", "padding", "resolution"), [("pad", 3, 12), ("random", 0, 9), ("pad", 2, 8)]
)
@pytest.mark.parametrize("flip", [True, False])
def test_equals_the_reference(crop: str, padding: int, resolution: int, flip: bool) -> None:
    recipe = Recipe(crop=crop, padding=padding, resolution=resolution, flip=flip).resolved(12, 10)  # type: ignore[arg-type]
    draws = torch.rand(3, 40, generator=torch.Generator().manual_seed(5))
    rows = torch.arange(40).flip(0)  # the last image first
    batch = Preprocessor(recipe, MEAN.numpy(), STD.numpy()).train(images(), rows, draws)
    expected = torch.stack(
        [
            reference(image, draws[:, number], recipe.padding, resolution, flip)
            for number, image in enumerate(images().flip(0))
        ]
    )
    assert batch.shape == (40, 3, resolution, resolution)
    torch.testing.assert_close(batch.double(), expected, atol=2e-6, rtol=1e-5)


def test_every_offset_and_both_directions_occur() -> None:
    recipe = Recipe(crop="random", resolution=10, flip=True).resolved(12, 10)
    marked = torch.arange(144, dtype=torch.uint8).reshape(1, 12, 12, 1).repeat(900, 1, 1, 3)
    batch = Preprocessor(recipe, np.zeros(3), np.ones(3)).train(
        marked, torch.arange(900), torch.rand(3, 900, generator=torch.Generator().manual_seed(0))
    )
    corners = {tuple(torch.round(image[0, 0, ::9] * 255).int().tolist()) for image in batch}
    assert len(corners) == 3 * 3 * 2


def test_evaluation_takes_the_centre() -> None:
    recipe = Recipe(crop="random", resolution=8).resolved(12, 10)
    batch = Preprocessor(recipe, MEAN.numpy(), STD.numpy()).test(images())
    expected = ((images()[:, 2:10, 2:10].float() / 255 - MEAN) / STD).permute(0, 3, 1, 2)
    torch.testing.assert_close(batch, expected, atol=2e-6, rtol=1e-5)


def test_no_crop_is_the_identity_but_for_flips() -> None:
    recipe = Recipe(crop="none", flip=False).resolved(12, 10)
    preprocess = Preprocessor(recipe, MEAN.numpy(), STD.numpy())
    trained = preprocess.train(images(), torch.arange(40), torch.rand(3, 40))
    torch.testing.assert_close(trained, preprocess.test(images()))
