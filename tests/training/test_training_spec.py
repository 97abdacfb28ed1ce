"""The identity of a run: everything that matters and nothing else."""

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
