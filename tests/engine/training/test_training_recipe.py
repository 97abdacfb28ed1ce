"""Recipes, the learning rate, and the identity of a run: all that matters and nothing else."""

import json
import math
import subprocess
import sys
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture
from anynet_study.engine.training import Recipe, RunSpec, learning_rate

NETWORK = Architecture((1, 2, 1, 1), (8, 16, 16, 32), (1, 2, 1, 1), (4, 8, 1, 16))
DEEPER = Architecture((2, 2, 1, 1), (8, 16, 16, 32), (1, 2, 1, 1), (4, 8, 1, 16))
DATA = {"content_hash": "00", "classes": ["a", "b"]}
GOLDEN = "500932adee7f18c5"


def spec(seed: int = 0, **recipe: object) -> RunSpec:
    return RunSpec(NETWORK, DATA, Recipe(**recipe).resolved(32, 10), seed)  # type: ignore[arg-type]


# The identity of a run.


def test_every_part_changes_the_id_and_the_way_of_writing_does_not() -> None:
    recipe = Recipe().resolved(32, 10)
    metrics = [spec(metric=metric) for metric in ("top5", "macro_f1", "quadratic_kappa", "auroc")]
    resized = [spec(crop="resized", **keys) for keys in RESIZED]
    specs = [
        spec(),
        spec(seed=1),
        spec(epochs=21),
        spec(flip=False),
        RunSpec(NETWORK, {**DATA, "content_hash": "01"}, recipe),
        RunSpec(DEEPER, DATA, recipe),
        *metrics,
        *resized,
    ]
    assert len({run.run_id for run in specs}) == len(specs)
    assert spec(resolution=32).run_id == spec().run_id
    assert spec(crop="none", padding=7).run_id == spec(crop="none", padding=0).run_id


RESIZED: list[dict[str, object]] = [{}, {"crop_area": (0.25, 1.0)}, {"crop_ratio": (1.0, 1.0)}]


def test_the_id_is_the_same_in_every_process_and_version_and_needs_no_torch() -> None:
    code = (
        "import sys, anynet_study.engine.sweep;"
        "from anynet_study.engine.training import EvaluationSpec, Options, Recipe, RunSpec;"
        "from anynet_study.design_space import Architecture;"
        "recipe = Recipe().resolved(32, 10);"
        f"print(RunSpec({NETWORK!r}, {DATA!r}, recipe).run_id, 'torch' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == f"{GOLDEN} False\n", IN_IDS
    assert spec().run_id == GOLDEN, IN_IDS


#: What to do where ids of all earlier runs have changed.
IN_IDS = "a new key of recipes belongs in LATER (engine/training/recipe.py): its default is no part"
#: Options that came after the first runs: each makes another run.
LATER_KEYS: list[dict[str, object]] = [{}, {"test_crop": 0.875}, {"precise_bn": 8}]
LATER_KEYS += [{"select": "best"}, {"patience": 3}, {"augment": ["blur"]}, {"test_every": 2}]
LATER_KEYS += [{"schedule_by": "epoch"}]


@pytest.mark.parametrize(
    ("recipe", "run_id"),
    [
        ({"crop": "none", "metric": "top5"}, "e727c181e44d7ced"),
        ({"crop": "random", "resolution": 28, "steps": 100, "epochs": None}, "31dfa6609964a44e"),
        (
            {"optimizer": "adamw", "lr": 0.001, "schedule": "multistep", "label_smoothing": 0.1},
            "0136f6b71d134601",
        ),
    ],
)
def test_recipes_of_before_keep_their_ids(recipe: dict[str, object], run_id: str) -> None:
    """Keys that came later are no part of runs on which they have no effect."""
    assert spec(**recipe).run_id == run_id, IN_IDS
    assert spec(**recipe, crop_area=(0.5, 1.0)).run_id == run_id
    assert spec(**recipe, test_crop=None, precise_bn=0).run_id == run_id
    assert len({spec(**recipe, **more).run_id for more in LATER_KEYS}) == len(LATER_KEYS)
    assert json.loads(spec(crop="resized").canonical())["recipe"]["crop_area"] == [0.08, 1.0]


def test_randomness_is_independent_by_purpose() -> None:
    purposes = [("order", 0), ("order", 1), ("augmentation", 0), ("initialisation",)]
    seeds = {spec(seed).seed_for(*purpose) for seed in (0, 1) for purpose in purposes}
    assert len(seeds) == 2 * len(purposes)
    assert all(0 <= seed < 2**63 for seed in seeds)


# What depends on the dataset.


@pytest.mark.parametrize(
    ("keys", "classes", "multi_label", "usual", "metric"),
    [
        ({}, 5, False, "quadratic_kappa", "quadratic_kappa"),
        ({"metric": "top1"}, 5, False, "quadratic_kappa", "top1"),
        ({}, 28, True, None, "macro_f1"),
        ({}, 99, False, None, "top1"),
        ({}, 100, False, None, "top5"),
    ],
)
def test_the_metric_that_is_usual_for_a_dataset_is_the_default(
    keys: dict[str, object], classes: int, multi_label: bool, usual: str | None, metric: str
) -> None:
    assert Recipe(**keys).resolved(32, classes, multi_label, usual).metric == metric  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "multi_label", "reason"),
    [
        ({"crop": "random", "resolution": 224}, False, "224 exceeds the images' 32 pixels"),
        ({"metric": "quadratic_kappa"}, True, "quadratic_kappa needs one class an image, .*auroc"),
        ({"label_smoothing": 0.1}, True, "label_smoothing needs one class an image"),
        ({"thresholds": "validation"}, False, "thresholds: validation needs several classes"),
    ],
)
def test_what_a_dataset_cannot_have_is_refused(
    keys: dict[str, object], multi_label: bool, reason: str
) -> None:
    with pytest.raises(UserError, match=reason):
        Recipe(**keys).resolved(32, 28, multi_label)  # type: ignore[arg-type]


# The learning rate, against closed forms and torch's own scheduler.


def test_cosine_equals_torchs_scheduler() -> None:
    recipe = Recipe(epochs=3, lr=0.3)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=21)
    for step in range(21):
        assert learning_rate(recipe, step, 7) == pytest.approx(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("factor", [1, 2])
def test_warm_restarts_equal_torchs_scheduler(factor: int) -> None:
    """Three epochs of seven steps, then twice as long or as long again."""
    recipe = Recipe(epochs=20, restart_epochs=3, restart_factor=factor)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], recipe.lr)
    restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts
    schedule = restarts(optimizer, T_0=3 * 7, T_mult=factor)
    for step in range(20 * 7):
        rate = optimizer.param_groups[0]["lr"]
        assert learning_rate(recipe, step, 7) == pytest.approx(rate, rel=1e-9, abs=1e-12)
        optimizer.step()
        schedule.step()


def test_warm_up_rises_linearly_from_a_tenth() -> None:
    recipe = Recipe(epochs=10, lr=1.0, schedule="constant", warmup_epochs=2)
    rates = [learning_rate(recipe, step, 10) for step in range(21)]
    assert (rates[0], rates[10], rates[20]) == pytest.approx((0.1, 0.55, 1.0))
    assert all(math.isclose(after - before, 0.045) for before, after in pairwise(rates))


def test_by_epoch_the_rate_is_that_of_whole_epochs() -> None:
    """The closed form of the study's code: lr (1 + cos(pi e / E)) / 2 throughout epoch e of E."""
    recipe = Recipe(epochs=10, schedule_by="epoch")
    rates = [learning_rate(recipe, step, 7) for step in range(70)]
    of_epochs = [0.1 * (1 + math.cos(math.pi * epoch / 10)) / 2 for epoch in range(10)]
    assert rates == pytest.approx([rate for rate in of_epochs for _ in range(7)])
    assert rates[-1] == pytest.approx(0.00245, abs=5e-6)
    by_step = [learning_rate(Recipe(epochs=10), step, 7) for step in range(70)]
    assert sum(by_step) / sum(rates) == pytest.approx(0.92, abs=0.01)


def test_by_epoch_a_warm_up_of_one_epoch_is_flat() -> None:
    recipe = Recipe(epochs=4, lr=1.0, schedule="constant", warmup_epochs=1, schedule_by="epoch")
    assert [learning_rate(recipe, step, 3) for step in range(6)] == [0.1] * 3 + [1.0] * 3


@given(st.integers(1, 50), st.integers(1, 100), st.floats(0, 5), st.data())
def test_the_rate_is_positive_and_never_above_the_base(
    epochs: int, steps: int, warmup: float, data: st.DataObject
) -> None:
    recipe = Recipe(epochs=epochs, lr=0.1, warmup_epochs=min(warmup, epochs * 0.9))
    step = data.draw(st.integers(0, epochs * steps - 1))
    assert 0 < learning_rate(recipe, step, steps) <= 0.1
