"""Sweep files: every shipped one is legal, and every mistake gets one helpful line."""

from pathlib import Path

import pytest

from anynet_study.errors import UserError
from anynet_study.study_folder import StudyFolder, sample
from anynet_study.sweep import Sweep
from anynet_study.sweep.text import dump_yaml, parse_yaml

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


def test_exponents_make_numbers_wherever_a_number_is_wanted(tmp_path: Path) -> None:
    strata = "population.strata={of: flops, edges: [1.2e6, 15e5]}"
    sweep = load(tmp_path, SMALL, strata, "population.count=1e1")
    assert sweep.population.strata == {"of": "flops", "edges": [1.2e6, 1.5e6]}
    assert sweep.population.count == 10
    told = {"text": "1e5", "number": 1e5, "hash": "12e", "small": 1e-7}
    assert parse_yaml(dump_yaml(told)) == told


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
        (
            "population.flops=[2]",
            "`population.flops` = [2]: legal: [lowest, highest] multiply-adds, such",
        ),
        (
            "population.parameters=[3, 2]",
            "`population.parameters` = [3, 2]: legal: [lowest, highest] par",
        ),
        (
            "population.activations=many",
            "`population.activations` = 'many': legal: [lowest, highest] act",
        ),
        ("population.strata={of: dept}", "`population.strata`: of: 'dept' is unknown"),
        ("population.file=a.csv", "`flops` is for drawing, but there is a `file`; drop one"),
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
        (SMALL.replace("count: 4, ", ""), "`population`: `count` is missing: how many to draw"),
        ("datasets: 3\nname: x", "is missing (and 3 more)"),
    ],
)
def test_broken_files_get_one_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in complaint(tmp_path, text)


def test_any_bands_or_none(tmp_path: Path) -> None:
    bands = ("population.parameters=[1e5, 1e6]", "population.activations=[1e3, 1e6]")
    record = sample(load(tmp_path, SMALL, *bands, "population.flops=null").population).sampling
    assert (record["parameters"], record["activations"]) == ([100_000, 1_000_000], [1000, 10**6])
    assert "flops" not in record
    whole = load(tmp_path, SMALL, "population.flops=null")
    assert sample(whole.population).sampling["acceptance"] == 1
    strata = load(tmp_path, SMALL, "population.strata={of: depth, edges: [12]}")
    assert "weight" in sample(strata.population).table.column_names
    assert load(tmp_path, strata.to_yaml()) == strata


CHOSEN = SMALL.replace("count: 4, flops: [1e6, 2e6], ", "file: nets/chosen.csv, ")
NETS = "d1,w1,d2,w2\n1,8,1,16\n1,8,2,16\n2,16,1,8\n"


def test_a_file_of_chosen_architectures_becomes_part_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweeps" / "nets").mkdir(parents=True)
    nets, file = tmp_path / "sweeps" / "nets" / "chosen.csv", tmp_path / "sweeps" / "s.yaml"
    nets.write_text(NETS)
    file.write_text(CHOSEN)
    sweep = Sweep.load(Path("sweeps/s.yaml"))
    population = sample(sweep.population)
    assert (len(population), population.resolution, population.classes) == (3, 32, 10)
    study = StudyFolder.of(sweep)
    study.begin(sweep, population)
    nets.unlink()  # the study has what it needs
    resolved = StudyFolder.open("small").sweep()
    assert resolved.to_yaml() == sweep.to_yaml()
    assert sample(resolved.population).equals(population)
    study.begin(resolved, sample(resolved.population))
    nets.write_text(NETS + "4,8,4,8\n")  # more architectures extend it
    study.begin(sweep, sample(sweep.population))
    assert len(study.population()) == 4
    nets.write_text(NETS.replace("2,16", "3,16"))
    with pytest.raises(UserError, match="holds a study of another population"):
        study.begin(sweep, sample(sweep.population))


def test_files_are_meant_from_the_sweep_and_overrides_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.csv").write_text(NETS)
    sweep = load(tmp_path, CHOSEN, "population.file=here.csv", "population.count=2")
    assert len(sample(sweep.population)) == 2
    with pytest.raises(UserError, match="population: count: 9 is more than the 3 in here"):
        sample(load(tmp_path, CHOSEN, "population.file=here.csv", "population.count=9").population)
    with pytest.raises(UserError, match=r"nets.chosen.csv: there is no such population file"):
        sample(load(tmp_path, CHOSEN).population)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such sweep file"):
        Sweep.load(tmp_path / "none.yaml")
