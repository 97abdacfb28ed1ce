"""Sweep files: every shipped one is legal, and every mistake gets one helpful line."""

from pathlib import Path

import pytest

from anynet_study.errors import UserError
from anynet_study.study import sample
from anynet_study.sweep import Sweep

SWEEPS = sorted((Path(__file__).parents[1] / "sweeps").glob("*.yaml"))
SMALL = """
name: small
population: {count: 4, flops: [1e6, 2e6], resolution: 32, classes: 10}
source: digits
datasets:
  digits: {}
  digits-2: {base: digits, classes: 2}
  gratings:
recipes:
  basic: {epochs: 2, overrides: {gratings: {epochs: 3}}}
"""


def load(tmp_path: Path, text: str, *overrides: str) -> Sweep:
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    return Sweep.load(path, overrides)


def complaint(tmp_path: Path, text: str, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        load(tmp_path, text, *overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_shipped_sweeps_are_legal_and_sample(path: Path) -> None:
    sweep = Sweep.load(path)
    assert sweep.name == path.stem
    first_lines = path.read_text().split("\nname:")[0]
    for promised in ("# anynet-study ", "# Expected:", "# Answers:"):
        assert promised in first_lines
    three = sample(sweep.population.model_copy(update={"count": 3}))
    assert len(three) == 3


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_resolved_sweep_loads_equal(path: Path, tmp_path: Path) -> None:
    sweep = Sweep.load(path)
    assert load(tmp_path, sweep.to_yaml()) == sweep


def test_paper_sweep_states_tables_1_and_2() -> None:
    sweep = Sweep.load(SWEEPS[0].parent / "paper.yaml")
    recipe = sweep.recipes["basic"]
    stated = {
        label: (recipe.for_dataset(label).epochs, recipe.for_dataset(label).metric)
        for label in sweep.datasets
    }
    assert stated == {
        "imagenet": (10, "top5"),
        "imagenet-100": (10, "top5"),
        "imagenet-10": (40, "top1"),
        "imagenet-5": (40, "top1"),
        "imagenet-2": (40, "top1"),
        "imagenet-1000-10": (40, "top5"),
        "concrete": (20, "top1"),
        "mlc2008": (20, "top1"),
        "ham10000": (30, "top1"),
        "powerline": (20, "top1"),
        "insects": (20, "top5"),
        "natural": (20, "top1"),
        "cifar10": (30, "top1"),
        "cifar100": (30, "top5"),
        "mlc2008-balanced": (20, "top1"),
        "ham10000-balanced": (30, "top1"),
    }
    roles = {label: sweep.role_of(label) for label in sweep.datasets}
    assert [label for label, role in roles.items() if role == "family"] == [
        "imagenet-100",
        "imagenet-10",
        "imagenet-5",
        "imagenet-2",
    ]
    assert [label for label, role in roles.items() if role == "extra"] == [
        "imagenet-1000-10",
        "mlc2008-balanced",
        "ham10000-balanced",
    ]
    assert sum(role == "target" for role in roles.values()) == 8
    assert (sweep.population.count, sweep.population.flops) == (500, (360e6, 400e6))


def test_defaults_and_roles(tmp_path: Path) -> None:
    sweep = load(tmp_path, SMALL)
    assert sweep.datasets["gratings"].base == "gratings"
    assert [sweep.role_of(label) for label in sweep.datasets] == ["source", "family", "target"]
    recipe = sweep.recipes["basic"].for_dataset("gratings")
    assert (recipe.epochs, recipe.batch_size, recipe.lr) == (3, 128, 0.1)
    assert (recipe.momentum, recipe.weight_decay) == (0.9, 5e-5)


def test_overrides_reach_any_depth(tmp_path: Path) -> None:
    sweep = load(
        tmp_path,
        SMALL,
        "recipes.basic.epochs=7",
        "population.flops=[3e6, 4e6]",
        "datasets.digits-5.base=digits",
        "datasets.digits-5.classes=5",
        "datasets.gratings.fraction=0.5",
    )
    assert sweep.recipes["basic"].epochs == 7
    assert sweep.population.flops == (3e6, 4e6)
    assert sweep.datasets["digits-5"].classes == 5
    assert sweep.datasets["gratings"].fraction == 0.5


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("populaton.count=3", "unknown key `populaton`; did you mean `population`? legal keys: "),
        ("population.cuont=3", "unknown key `population.cuont`; did you mean `count`?"),
        ("recipes.basic.epoch=3", "unknown key `recipes.basic.epoch`; did you mean `epochs`?"),
        ("datasets.digits.klasses=3", "did you mean `classes`?"),
        ("recipes.basic.overrides.gratings.lrr=1", "unknown key `lrr`; did you mean `lr`?"),
        ("recipes.basic.epochs=0", "`recipes.basic.epochs` = 0: input should be greater than"),
        ("recipes.basic.metric=top3", "`recipes.basic.metric` = 'top3': input should be 'top1'"),
        ("recipes.basic.overrides.nothing.lr=1", "no dataset `nothing` in this sweep"),
        ("recipes.basic.warmup_epochs=9", "warmup_epochs 9 must be less than epochs 2"),
        ("source=imagenet", "no dataset `imagenet` in this sweep; there are: digits, "),
        ("name=a/b", "`name` = 'a/b'"),
        ("population.space=anynety", "anynet"),
        ("population.flops=[2]", "`population.flops"),
        ("datasets.gratings.role=extra", "datasets: none is a target"),
        ("datasets.gratings.role=source", "`datasets.gratings.role` = 'source'"),
        ("count", "write it as key.path=value"),
        ("population.count.x=1", "`count` is a value, it has no keys"),
        ("population.count=[", "not valid YAML"),
    ],
)
def test_mistakes_get_one_line(tmp_path: Path, override: str, expected: str) -> None:
    assert expected in complaint(tmp_path, SMALL, override)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a sweep file is a mapping"),
        ("name: [", "not valid YAML"),
        (SMALL + "name: twice", "key `name` is given twice (line "),
        ("name: x", "`population` is missing"),
        (SMALL.replace("flops: [1e6, 2e6], ", ""), "`population.flops` is missing"),
        ("datasets: 3\nname: x", "is missing (and 3 more)"),
    ],
)
def test_broken_files_get_one_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in complaint(tmp_path, text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such sweep file"):
        Sweep.load(tmp_path / "none.yaml")
