"""Sweep files: every shipped one is legal, and every mistake gets one helpful line."""

import json
from pathlib import Path

import pytest

from anynet_study.core.errors import UserError
from anynet_study.engine.planning.settings import load_views
from anynet_study.engine.stages import dataset_table
from anynet_study.engine.study_folder import StudyFolder, sample
from anynet_study.engine.sweep import Sweep
from anynet_study.engine.sweep.text import dump_yaml, parse_yaml

SWEEPS = sorted((Path(__file__).parents[2] / "sweeps").glob("*.yaml"))
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


PRETRAINED = """
  strong: {epochs: 2, datasets: [digits], augment: [augmix]}
  tuned: {epochs: 1, datasets: [gratings], pretrained: digits, pretrained_by: [basic, strong]}
  probe: {epochs: 1, datasets: [gratings], pretrained: digits, trained: head}
"""


def test_a_recipe_for_each_way_of_pretraining(tmp_path: Path) -> None:
    """Pretraining x fine-tuning: each starts from the runs of the recipe that it names."""
    sweep = load(tmp_path, SMALL + PRETRAINED)
    assert list(sweep.recipes) == ["basic", "strong", "tuned-basic", "tuned-strong", "probe"]
    starts = {name: sweep.start_of(name, "gratings") for name in [*sweep.recipes][2:]}
    assert starts == {
        "tuned-basic": ("digits", "basic"),
        "tuned-strong": ("digits", "strong"),
        "probe": ("digits", "basic"),
    }
    assert load(tmp_path, sweep.to_yaml()) == sweep
    more = "recipes.tuned.lr=0.01"
    assert load(tmp_path, SMALL + PRETRAINED, more).recipes["tuned-strong"].lr == 0.01


ERRORS_OF = "errors_of={digits: strong, default: tuned-basic, digits-2: basic}"


def test_a_recipe_whose_errors_stand_for_each_dataset(tmp_path: Path) -> None:
    """Of what the store says of a dataset, its metric and epochs are those of that recipe."""
    plain = load(tmp_path, SMALL + PRETRAINED)
    sweep = load(tmp_path, SMALL + PRETRAINED, ERRORS_OF)
    standing = {name: sweep.standing_for(name) for name in sweep.datasets}
    assert standing == {"digits": "strong", "digits-2": "basic", "gratings": "tuned-basic"}
    assert {plain.standing_for(name) for name in plain.datasets} == {"basic"}
    assert sweep.recipes_on("gratings") == ["basic", "tuned-basic", "tuned-strong", "probe"]
    assert not sweep.changes_since(plain), "no run depends on it"
    assert load(tmp_path, sweep.to_yaml()) == sweep
    views = load_views(sweep)
    for one, told, epochs in ((sweep, standing, 1), (plain, {}, 3)):
        rows = {row["dataset"]: row for row in dataset_table(one, views).to_pylist()}
        for name in sweep.datasets:
            assert rows[name]["errors_of"] == told.get(name, "")
            assert json.loads(rows[name]["recipes"]) == sweep.recipes_on(name)
        assert rows["gratings"]["epochs"] == epochs


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("errors_of={other: basic}", "errors_of: no dataset `other`"),
        ("errors_of={digits: best}", "errors_of.digits: no recipe `best`"),
        (
            "errors_of={default: tuned-basic}",
            "errors_of.digits: tuned-basic is not trained on it; legal: basic, strong",
        ),
        ("errors_of={gratings: strong}", "errors_of.gratings: strong is not trained on it; legal"),
    ],
)
def test_recipes_that_cannot_stand_for_a_dataset(
    tmp_path: Path, override: str, reason: str
) -> None:
    assert reason in complaint(tmp_path, SMALL + PRETRAINED, override)


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("recipes.tuned.pretrained_by=[basic, other]", "other does not train digits from scratch"),
        ("recipes.tuned.pretrained_by=probe", "probe does not train digits from scratch"),
        ("recipes.basic.pretrained_by=strong", "pretrained_by: only with pretrained"),
        (
            "recipes.tuned-basic={epochs: 1}",
            "recipes.tuned.pretrained_by: there is a recipe tuned-basic",
        ),
        ("recipes.tuned.pretrained_by=[]", "recipes.tuned.pretrained_by"),
    ],
)
def test_ways_of_pretraining_that_are_none(tmp_path: Path, override: str, reason: str) -> None:
    assert reason in complaint(tmp_path, SMALL + PRETRAINED, override)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_shipped_sweeps_are_legal_and_sample(path: Path, tmp_path: Path) -> None:
    sweep = Sweep.load(path)
    assert load(tmp_path, sweep.to_yaml()) == sweep
    assert sweep.name == path.stem
    first_lines = path.read_text().split("\nname:")[0]
    for promised in ("# anynet-study ", "# Expected:", "# Answers:"):
        assert promised in first_lines
    if sweep.population.networks is not None:  # those of libraries need these
        ours = [name for name in sweep.population.networks if ":" not in name]
        named = sample(sweep.population.model_copy(update={"networks": ours}))
        assert list(named.names) == ours
        return
    three = sample(sweep.population.model_copy(update={"count": 3}))
    assert len(three) == 3


#: Epochs and metric of each dataset of the paper's tables 1 and 2, and its part in the analysis.
PAPER = """
imagenet 10 top5 source
imagenet-100 10 top5 family
imagenet-10 40 top1 family
imagenet-5 40 top1 family
imagenet-2 40 top1 family
imagenet-1000-10 40 top5 extra
concrete 20 top1 target
mlc2008 20 top1 target
ham10000 30 top1 target
powerline 20 top1 target
insects 20 top5 target
natural 20 top1 target
cifar10 30 top1 target
cifar100 30 top5 target
mlc2008-balanced 20 top1 extra
ham10000-balanced 30 top1 extra
"""


def test_paper_sweep_states_tables_1_and_2() -> None:
    sweep = Sweep.load(SWEEPS[0].parent / "paper.yaml")
    stated = ""
    for label in sweep.datasets:
        recipe = sweep.recipes["basic"].for_dataset(label)
        stated += f"\n{label} {recipe.epochs} {recipe.metric} {sweep.role_of(label)}"
    assert stated + "\n" == PAPER
    assert (sweep.population.count, sweep.population.flops) == (500, (360e6, 400e6))


VARIANTS = """
name: variants
population: {space: anynetx, count: 2}
source: digits
recipes: {basic: {epochs: 1}}
datasets:
  digits:
  digits-5: {base: digits, classes: 5}
  digits-10-30: {base: digits, per_class: 30}
  digits-noisy: {base: digits, label_noise: 0.2}
  digits-parity: {base: digits, groups: {even: [0, 2, 4, 6, 8], odd: [1, 3, 5, 7, 9]}}
  digits-eighth: {base: digits, fraction: 0.125}
  blobs: {balanced: true}
"""


def test_variants_and_what_the_store_says_of_them(tmp_path: Path, data_home: Path) -> None:
    sweep = load(tmp_path, VARIANTS)
    assert load(tmp_path, sweep.to_yaml()) == sweep
    roles = {label: sweep.role_of(label) for label in sweep.datasets}
    assert (roles["digits-5"], roles["blobs"]) == ("family", "target")
    assert {roles[name] for name in ("digits-noisy", "digits-parity", "digits-eighth")} == {"extra"}
    views = load_views(sweep)
    rows = {row["dataset"]: row for row in dataset_table(sweep, views).to_pylist()}
    for label, view in views.items():
        assert json.loads(rows[label]["class_names"]) == list(view.classes)
    assert len(json.loads(rows["digits-5"]["class_names"])) == 5
    assert json.loads(rows["digits-parity"]["class_names"]) == ["even", "odd"]
    assert json.loads(rows["digits-parity"]["variant"])["groups"]["odd"][0] == "1"
    assert len({json.dumps(view.identity) for view in views.values()}) == len(views)


def test_defaults_and_roles(tmp_path: Path) -> None:
    sweep = load(tmp_path, SMALL)
    assert sweep.datasets["gratings"].base == "gratings"
    assert [sweep.role_of(label) for label in sweep.datasets] == ["source", "family", "target"]
    recipe = sweep.recipes["basic"].for_dataset("gratings")
    assert (recipe.epochs, recipe.batch_size, recipe.lr) == (3, 128, 0.1)
    assert (recipe.momentum, recipe.weight_decay) == (0.9, 5e-5)


def test_a_population_on_a_single_dataset_is_a_study(tmp_path: Path) -> None:
    sweep = load(tmp_path, SMALL, "datasets={digits: {}}", "recipes={basic: {}}")
    assert {label: sweep.role_of(label) for label in sweep.datasets} == {"digits": "source"}


def test_exponents_make_numbers_wherever_a_number_is_wanted(tmp_path: Path) -> None:
    strata = "population.strata={of: flops, edges: [1.2e6, 15e5]}"
    sweep = load(tmp_path, SMALL, strata, "population.count=1e1")
    assert sweep.population.strata == {"of": "flops", "edges": [1.2e6, 1.5e6]}
    assert sweep.population.count == 10
    told = {"text": "1e5", "number": 1e5, "hash": "12e", "small": 1e-7}
    assert parse_yaml(dump_yaml(told)) == told


def test_an_override_leaves_what_took_over_the_same_mapping(tmp_path: Path) -> None:
    recipes = "{basic: &b {epochs: 1, overrides: {digits: {lr: 0.1}}}, other: {<<: *b, epochs: 2}}"
    text = VARIANTS.replace("{basic: {epochs: 1}}", recipes)
    sweep = load(tmp_path, text, "recipes.other.overrides.digits.lr=0.5")
    assert sweep.recipes["basic"].overrides == {"digits": {"lr": 0.1}}
    assert sweep.recipes["other"].overrides == {"digits": {"lr": 0.5}}


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
        ("populaton.count=3", "unknown key `populaton` (did you mean 'population'?); legal keys: "),
        ("recipes.basic.epoch=3", "unknown key `recipes.basic.epoch` (did you mean 'epochs'?)"),
        ("recipes.basic.overrides.gratings.lrr=1", "unknown key `lrr` (did you mean 'lr'?)"),
        ("recipes.basic.epochs=0", "`recipes.basic.epochs` = 0: input should be greater than"),
        ("recipes.basic.metric=top3", "`recipes.basic.metric` = 'top3': input should be 'top1'"),
        ("recipes.basic.overrides.nothing.lr=1", "no dataset `nothing` in this sweep"),
        ("recipes.basic.warmup_epochs=9", "warmup_epochs 9 must be less than epochs 2"),
        (
            "recipes.basic={epochs: 2, schedule: constant, restart_epochs: 1}",
            "restart_epochs: only with schedule cosine",
        ),
        ("datasets.digits={validation: 0.5, fold: 2}", "fold 2: validation 0.5 has 0 to 1"),
        ("evaluations={v: {part: validation, test_set: blobs}}", "leave out test_set"),
        ("source=imagenet", "no dataset `imagenet` in this sweep; there are: digits, "),
        ("name=a/b", "`name` = 'a/b'"),
        ("population.flops=[2]", "`population.flops` = [2]: legal: [lowest, highest] multiply-add"),
        ("population.strata={of: dept}", "`population.strata`: of: 'dept' is unknown"),
        ("population.file=a.csv", "`flops` is for drawing, but there is a `file`; drop one"),
        ("datasets.gratings.role=extra", "datasets: none is a target"),
        ("datasets.gratings.role=source", "`datasets.gratings.role` = 'source'"),
        ("count", "write it as key.path=value"),
        ("population.count.x=1", "`count` is a value, it has no keys"),
        ("population.count=[", "not valid YAML"),
        ("population.space.depth=[1, 2]", "key 'depth' is unknown (did you mean 'depths'?)"),
        ("recipes.basic.lr=.inf", "`recipes.basic.lr` = inf: input should be a finite number"),
        ("population.space=[1]", "is neither a name nor a mapping; e.g. anynetx"),
        ("population=4", "`population` = 4: should be a mapping of keys"),
        ("datasets={}", "`datasets`"),
        ("name=2001-99-99", "the value is not valid YAML: month must be in 1..12"),
        (
            "recipes.basic={steps: 1e12}",
            "`recipes.basic.steps` = 1000000000000.0: input should be ",
        ),
        ("launch.slurm.partion=gpu", "`launch.slurm`: unknown option `partion` (did you mean 'par"),
        ("recipes.basic=5", "`recipes.basic` = 5"),
        ("launch.slurm.command=ls", "unknown option `command`"),
        ("launch.slurm.timeout_min=4 hours", "timeout_min = '4 hours': input should be a valid in"),
        ("launch.slurm.tasks_per_node=2", "tasks_per_node = 2: a job is one process; legal: 1"),
        ("launch.slurm.setup={a: b}", "setup = {'a': 'b'}: input should be a valid list"),
    ],
)
def test_mistakes_get_one_line(tmp_path: Path, override: str, expected: str) -> None:
    assert expected in complaint(tmp_path, SMALL, override)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a sweep file is a mapping"),
        ("name: [", "not valid YAML"),
        (SMALL + "name: twice", f"key `name` is given twice (line {SMALL.count(chr(10)) + 1})"),
        ("name: x", "missing: `population`, `datasets`, `source`, `recipes`"),
        (SMALL.replace("count: 4, ", ""), "missing: `population.count` (how many to draw, or a"),
        ("datasets: 3\nname: x", "`datasets` = 3: should be a mapping of keys; missing: `popula"),
        (
            "name: x\npopulation: {seed: 1}\nrecipes: {a: {epoch: 3}}\nevaluations: {b: 1}",
            "(did you mean 'epochs'?); legal keys: ",
        ),
        (
            "name: x\npopulation: {seed: 1}\nrecipes: {a: {epoch: 3}}\nevaluations: {b: 1}",
            "(and 1 more); missing: `population.count` (how many to draw, or a `file` or "
            "`networks`), `datasets`, `source`",
        ),
    ],
)
def test_broken_files_get_one_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in complaint(tmp_path, text)


@pytest.mark.parametrize(
    ("override", "checked"),
    [
        ("partition=gpu", "gpu"),
        ("account=4711", "4711"),
        ("qos=null", None),
        ("mem_gb=0.5", 0.5),
        ("exclusive=true", True),
        ("setup=module load cuda", ["module load cuda"]),
        ("additional_parameters={hold: true}", {"hold": True}),
        ("python=apptainer exec study.sif python", "apptainer exec study.sif python"),
    ],
)
def test_slurm_s_options_are_what_submitit_wants(
    tmp_path: Path, override: str, checked: object
) -> None:
    options = load(tmp_path, SMALL, f"launch.slurm.{override}").launch.slurm
    assert options.get(override.partition("=")[0]) == checked


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


def test_two_sweeps_are_compared_key_by_key(tmp_path: Path) -> None:
    before = load(tmp_path, SMALL)
    assert load(tmp_path, before.to_yaml()).changes_since(before) == {}
    of_no_run = ["name=other", "question=why", "launch.workers=3"]
    assert load(tmp_path, SMALL, *of_no_run).changes_since(before) == {}
    now = load(
        tmp_path,
        SMALL.replace("  gratings:\n", ""),
        "recipes.basic={lr: 0.04, weight_decay: 1e-4}",
        "datasets.blobs={}",
        "population.flops=null",
    )
    changes = now.changes_since(before)
    assert changes["recipes.basic.lr"] == ("0.1", "0.04")
    assert changes["recipes.basic.overrides.gratings"] == ("{epochs: 3}", "")
    assert changes["population.flops"][1] == ""
    added, removed = changes["datasets.blobs"], changes["datasets.gratings"]
    assert (added[0], removed[1]) == ("", "")
    assert "base: blobs" in added[1]
    assert not any(key.startswith(("datasets.digits", "source")) for key in changes)
