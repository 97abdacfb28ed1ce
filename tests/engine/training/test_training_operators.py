"""What is done to training images by a recipe's `augment`: which, how often, and to the targets."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn import functional as F
from training_runs import spec

from anynet_study.core.errors import UserError
from anynet_study.data import DatasetView
from anynet_study.data.seeded import seeded_uniform
from anynet_study.engine.sweep import explain
from anynet_study.engine.training import Recipe
from anynet_study.engine.training.augment import mix_table, mixed, operator_draws
from anynet_study.engine.training.metrics import training_loss
from anynet_study.engine.training.operators import AUGMIX_AMONG, OPERATORS, TRANSFORMS, drawn_among
from anynet_study.engine.training.transforms import augmented, transformed

ALL = [name for name in OPERATORS if name not in ("mixup", "cutmix")]
MIXED = [{"mixup": {"probability": 0.4}}, {"cutmix": {"probability": 0.4}}]


def pictures(count: int, side: int = 8) -> torch.Tensor:
    pixels = np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    return torch.from_numpy(pixels)


def recipe(*augment: object, side: int = 8) -> Recipe:
    return Recipe(augment=augment).resolved(side, 10)  # type: ignore[arg-type]


# How operators are stated.


def test_what_is_left_out_is_filled_in_and_equal_runs_are_equal(view: DatasetView) -> None:
    short = spec(view, augment=["vertical_flip", {"rotation": {"degrees": 15}}])
    long = spec(
        view,
        augment=[
            {"vertical_flip": {"probability": 0.5}},
            {"rotation": {"probability": 1, "degrees": 15.0}},
        ],
    )
    assert short.run_id == long.run_id
    assert Recipe(**short.recipe.model_dump(mode="json")).augment == short.recipe.augment
    others = [spec(view), spec(view, augment=["rotation"]), spec(view, augment=["vertical_flip"])]
    assert len({short.run_id, *(other.run_id for other in others)}) == 4


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("blurr", "no operator blurr; legal: blur, sharpness, .*cutmix"),
        ({"blur": {}, "invert": {}}, "its name, or one name with its parameters"),
        ({"blur": 3}, "blur: its parameters are a mapping"),
        ({"blur": {"radius": 2}}, "blur: no parameter radius; legal: sigma, probability"),
        ({"blur": {"sigma": 1}}, r"blur.sigma 1: legal is two numbers, the lower first, from 0.05"),
        ({"rotation": {"degrees": 181}}, "rotation.degrees 181: legal is a number from 0 to 180"),
        ({"posterise": {"bits": 1.5}}, "posterise.bits 1.5: legal is a whole number from 1 to 8"),
        ({"mixup": {"probability": 2}}, "mixup.probability 2: legal is a number from 0 to 1"),
    ],
)
def test_a_mistake_is_one_line_with_what_is_legal(stated: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Recipe(augment=[stated])  # type: ignore[list-item]


def test_the_explanation_of_the_key_names_every_operator() -> None:
    key, _ = explain("recipes.basic.augment")
    assert [name for name in OPERATORS if name not in key.meaning] == []


def test_what_cannot_be_mixed_is_refused() -> None:
    with pytest.raises(ValidationError, match="must not exceed 1 together"):
        Recipe(augment=["mixup", "cutmix"])  # type: ignore[list-item]
    with pytest.raises(UserError, match="cutmix needs one class an image"):
        Recipe(augment=["cutmix"]).resolved(8, 10, multi_label=True)  # type: ignore[list-item]


# Single images.


@pytest.mark.parametrize("name", ALL)
def test_each_image_is_that_of_the_test_time_transform_or_left(name: str) -> None:
    """As often as `probability` says, whatever the batch; several operators in their order."""
    stated = recipe({name: {"probability": 0.3}})
    (operator,) = stated.operators
    draws = seeded_uniform((400, operator.width), "draws")
    after = augmented(pictures(400), [operator], [draws])
    touched = draws[:, 0] < 0.3
    assert 80 < touched.sum() < 160
    assert torch.equal(after[~touched], pictures(400)[~touched])
    if name in TRANSFORMS:
        own = transformed(pictures(400)[touched], draws[touched, 1:], name)  # type: ignore[arg-type]
        assert torch.equal(after[touched], own)
    alone = [augmented(pictures(400)[n : n + 1], [operator], [draws[n : n + 1]]) for n in range(40)]
    assert torch.equal(torch.cat(alone), after[:40])


def test_randaugment_applies_as_many_as_asked_at_the_magnitude() -> None:
    (operator,) = recipe({"randaugment": {"number": 3, "magnitude": 30}}).operators
    done = list(operator.chosen(seeded_uniform((1000, operator.width), "draws")))
    among = drawn_among(30)
    counts = dict.fromkeys(among, 0)
    for name, parameters, rows, draws in done:
        assert parameters == among[name]
        assert draws.shape == (len(rows), 8)
        counts[name] += len(rows)
    assert sum(counts.values()) == 3000
    assert min(counts.values()) > 200
    assert among["rotation"] == {"degrees": 30.0}
    assert drawn_among(0)["contrast"] == {"factor": [1.0, 1.0]}
    assert operator.uses == pytest.approx(dict.fromkeys(among, 3 / len(among)))


def test_augmix_is_that_of_a_plain_loop() -> None:
    """Image by image: shares of a Dirichlet distribution, chains of as many transforms as drawn."""
    (operator,) = recipe(
        {"augmix": {"chains": 2, "depth": 3, "magnitude": 12, "probability": 0.7, "alpha": 1.0}}
    ).operators
    draws = seeded_uniform((40, operator.width), "draws")
    after = augmented(pictures(40), [operator], [draws])
    among = {name: drawn_among(12)[name] for name in AUGMIX_AMONG}
    lengths = []
    for number, draw in enumerate(draws):
        image = pictures(40)[number : number + 1]
        if draw[0] >= 0.7:
            assert torch.equal(after[number], image[0])
            continue
        kept, numbers = draw[1], draw[2:].reshape(2, -1)  # alpha 1: beta is uniform ...
        heights = -np.log1p(-numbers[:, 0])  # ... and gamma exponential
        shares = [kept, *((1 - kept) * heights / heights.sum())]
        mixture = shares[0] * image.double()
        for share, chain in zip(shares[1:], numbers, strict=True):
            changed = image
            lengths.append(1 + int(3 * chain[1]))
            for link in chain[2:].reshape(3, -1)[: lengths[-1]]:
                name = list(among)[int(link[0] * len(among))]
                changed = transformed(changed, link[None, 1:], name, among[name])
            mixture += share * changed.double()
        assert (after[number] - mixture[0]).abs().max() <= 0.5 + 1e-3
    assert set(lengths) == {1, 2, 3}
    assert operator.uses == pytest.approx(dict.fromkeys(among, 0.7 * 2 * 2 / len(among)))


def test_draws_are_of_the_run_the_epoch_and_the_step(view: DatasetView) -> None:
    run = spec(view, augment=["blur", "randaugment"])
    draws = [operator_draws(run, *at, 5) for at in ((0, 0), (0, 1), (1, 0))]
    assert [its.shape for its in draws[0]] == [(5, 9), (5, 19)]
    assert len({its.tobytes() for part in draws for its in part}) == 6
    assert operator_draws(spec(view), 0, 0, 5) == []


# Pairs of images.


def test_a_mixed_image_is_that_of_plain_loops() -> None:
    stated = recipe(*MIXED)
    table = mix_table(stated, seeded_uniform((300, 4), "mixes"))
    kinds = [int((table[:, 4] == 0).sum()), int((table[:, 5] == 1).sum())]
    assert 80 < kinds[0] < 160  # cut
    assert 30 < kinds[1] < 110  # left alone, and boxes of no pixel
    batch = torch.rand(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    for row in table[:40]:
        top, left, bottom, right = row[:4].int().tolist()
        found, weight = mixed(batch, row), 0.0
        for y in range(8):
            for x in range(8):
                kept = float(row[4]) if top <= y < bottom and left <= x < right else 1.0
                weight += kept / 64
                expected = kept * batch[:, :, y, x] + (1 - kept) * batch.roll(1, 0)[:, :, y, x]
                torch.testing.assert_close(found[:, :, y, x], expected)
        assert float(row[5]) == pytest.approx(weight, abs=1e-6)  # the share of the target


def test_shares_are_those_of_a_beta_distribution() -> None:
    table = mix_table(recipe({"mixup": {"alpha": 0.4}}), seeded_uniform((4000, 4), "mixes"))
    expected = np.random.default_rng(0).beta(0.4, 0.4, 4000)
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    np.testing.assert_allclose(
        np.quantile(table[:, 5], levels), np.quantile(expected, levels), atol=0.05
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_mixed_images_is_that_of_soft_targets(smoothing: float) -> None:
    generator = torch.Generator().manual_seed(1)
    logits, labels = torch.randn(6, 4, generator=generator), torch.tensor([0, 3, 1, 1, 2, 0])
    one_hot, share = F.one_hot(labels, 4).float(), torch.tensor(0.7)
    soft = 0.7 * one_hot + 0.3 * one_hot.roll(1, 0)
    expected = F.cross_entropy(logits, soft, label_smoothing=smoothing)
    torch.testing.assert_close(training_loss(logits, labels, smoothing, share), expected)
    several = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1]])
    soft = 0.7 * several + 0.3 * several.roll(1, 0)
    expected = F.binary_cross_entropy_with_logits(logits[:3], soft)
    torch.testing.assert_close(training_loss(logits[:3], several, 0.0, share), expected)


# Whole runs, stopped ones too: test_training_engine.
