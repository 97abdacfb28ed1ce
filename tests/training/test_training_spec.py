"""The identity of a run: everything that matters and nothing else."""

import json
import subprocess
import sys

import pytest

from anynet_study.design_space import Architecture
from anynet_study.errors import UserError
from anynet_study.training import Recipe, RunSpec

NETWORK = Architecture((1, 2, 1, 1), (8, 16, 16, 32), (1, 2, 1, 1), (4, 8, 1, 16))
DATA = {"content_hash": "00", "classes": ["a", "b"]}


def spec(seed: int = 0, **recipe: object) -> RunSpec:
    return RunSpec(NETWORK, DATA, Recipe(**recipe).resolved(32, 10), seed)  # type: ignore[arg-type]


def test_every_part_changes_the_id() -> None:
    specs = [
        spec(),
        spec(seed=1),
        spec(epochs=21),
        spec(flip=False),
        RunSpec(NETWORK, {**DATA, "content_hash": "01"}, Recipe().resolved(32, 10)),
        RunSpec(Architecture((2, 2, 1, 1), *list_of(NETWORK)), DATA, Recipe().resolved(32, 10)),
    ]
    assert len({each.run_id for each in specs}) == len(specs)


def list_of(network: Architecture) -> list[tuple[int, ...]]:
    return [network.widths, network.bottleneck_ratios, network.group_widths]


def test_equal_runs_have_equal_ids_however_they_are_written() -> None:
    assert spec(resolution=32).run_id == spec().run_id
    assert spec(crop="none", padding=7).run_id == spec(crop="none", padding=0).run_id


def test_id_is_the_same_in_every_process_and_version() -> None:
    assert spec().run_id == GOLDEN
    code = (
        "import sys; sys.path.insert(0, 'tests/training');"
        "import test_training_spec as t; print(t.spec().run_id)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == GOLDEN


GOLDEN = "500932adee7f18c5"


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
    assert spec(**recipe).run_id == run_id
    assert spec(**recipe, crop_area=(0.5, 1.0)).run_id == run_id


def test_the_keys_of_resized_crops_are_part_of_runs_that_have_them() -> None:
    ids = {spec(crop="resized", **keys).run_id for keys in RESIZED}
    assert len(ids) == len(RESIZED)
    assert json.loads(spec(crop="resized").canonical())["recipe"]["crop_area"] == [0.08, 1.0]


RESIZED: list[dict[str, object]] = [
    {},
    {"crop_area": (0.25, 1.0)},
    {"crop_ratio": (1.0, 1.0)},
]


def test_randomness_is_independent_by_purpose() -> None:
    seeds = {spec(seed).seed_for(*purpose) for seed in (0, 1) for purpose in PURPOSES}
    assert len(seeds) == 2 * len(PURPOSES)
    assert all(0 <= seed < 2**63 for seed in seeds)


PURPOSES = [("order", 0), ("order", 1), ("augmentation", 0), ("initialisation",)]


def test_a_crop_larger_than_the_image_is_refused() -> None:
    with pytest.raises(UserError, match="resolution 224 exceeds the images' 32 pixels"):
        Recipe(crop="random", resolution=224).resolved(32, 10)


def test_specifications_need_no_torch() -> None:
    code = "import sys, anynet_study.training, anynet_study.sweep; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
