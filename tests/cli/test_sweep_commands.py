"""The commands about sweep files and studies: sweep, init, list."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from command import SWEEPS, in_this_process
from tiny_study import Type

from anynet_study import Sweep
from anynet_study.engine.sweep import explain, json_schema, load_yaml, shipped_sweeps

#: Keys whose names say it, or are explained with the one before.
PLAIN = {"population.parameters", "population.activations", "population.seed"} | {
    *("population.classes", "recipes.NAME.optimizer", "recipes.NAME.gamma", "launch.cluster"),
}
SHIPPED = sorted(SWEEPS.glob("*.yaml"))


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    """Of sweep files, checked once: that takes longer than to validate a file by it."""
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_schema_accepts_shipped_sweeps_and_refuses_misspelt_ones(
    path: Path, schema: jsonschema.Draft202012Validator
) -> None:
    content = load_yaml(path)
    schema.validate(content)
    content["datasets"]["more"] = {"test_set_of": content["source"]}
    content["datasets"]["nothing"] = None
    schema.validate(content)
    next(iter(content["recipes"].values()))["epoch"] = 3
    with pytest.raises(jsonschema.ValidationError, match="epoch"):
        schema.validate(content)


def test_every_key_is_explained(tmp_path: Path) -> None:
    unexplained = [
        f"{section}.{key.path}"
        for section in ("", "population", "datasets", "recipes", "replicates", "launch")
        for key in explain(section)[1]
        if not key.meaning
    ]
    assert set(unexplained) <= PLAIN
    told = in_this_process(tmp_path, "sweep", "--explain", "recipes.any.epochs").stdout
    assert told.startswith("recipes.any.epochs: whole number, at least 1, at most 100000")
    assert "(default: 20)\nPasses over the training images" in told
    assert "NAME.classes" in in_this_process(tmp_path, "sweep", "--explain", "datasets").stdout
    assert json.loads(in_this_process(tmp_path, "sweep", "--schema").stdout) == json_schema()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("recipe.basic", "no key `recipe` (did you mean 'recipes'?); legal keys: name, "),
        ("population.cuont", "no key `population.cuont` (did you mean 'count'?)"),
        ("population.count.more", "`population.count` has no keys of its own"),
    ],
)
def test_a_key_that_does_not_exist(tmp_path: Path, key: str, expected: str) -> None:
    assert expected in in_this_process(tmp_path, "sweep", "--explain", key, expect=2).stderr


@pytest.mark.parametrize("resolution", [8, 32, 64, 224])
def test_a_first_sweep_is_legal_and_hits_its_band(tmp_path: Path, resolution: int) -> None:
    given = ["--datasets", "gratings,blobs", "--source", "digits", "--resolution", resolution]
    in_this_process(tmp_path, "init", "first", *given)
    sweep = Sweep.load(tmp_path / "sweeps" / "first.yaml")
    assert (list(sweep.datasets), sweep.source) == (["digits", "gratings", "blobs"], "digits")
    flips = [sweep.recipes["basic"].for_dataset(label).flip for label in sweep.datasets]
    assert flips == [False, True, True]
    assert len(sweep.population.population()) == 20
    again = in_this_process(tmp_path, "init", "first", *given, expect=2)
    assert "exists already; name another file" in again.stderr


def test_an_illegal_choice_of_an_option_is_one_plain_line(tmp_path: Path) -> None:
    told = in_this_process(tmp_path, "data", "add", "x", "--from", ".", "--store", "tar", expect=2)
    line = "error: Invalid value for '--store': 'tar' is not one of 'auto', 'raw', 'jpeg'"
    assert told.stderr.startswith(line)


def test_a_first_sweep_of_one_epoch_has_no_warm_up(tmp_path: Path) -> None:
    in_this_process(tmp_path, "init", "first", "--datasets", "digits", "--epochs", "1")
    assert Sweep.load(tmp_path / "sweeps" / "first.yaml").recipes["basic"].warmup_epochs == 0


def test_a_first_sweep_says_which_images_are_mirrored(tmp_path: Path) -> None:
    given = ["--datasets", "digits,photos,mnist", "--no-flip", "mnist"]
    told = in_this_process(tmp_path, "init", "first", *given).stdout
    assert "images of photos are mirrored" in " ".join(told.split())
    sweep = Sweep.load(tmp_path / "sweeps" / "first.yaml")
    flips = {label: sweep.recipes["basic"].for_dataset(label).flip for label in sweep.datasets}
    assert flips == {"digits": False, "photos": True, "mnist": False}
    # What is known of a dataset that is not made yet.
    assert (sweep.population.resolution, sweep.population.classes) == (8, 10)


def test_a_first_sweep_of_networks_by_name(tmp_path: Path) -> None:
    given = ["--datasets", "digits,blobs", "--networks", "resnet20,mine:net"]
    in_this_process(tmp_path, "init", "nets", *given)
    sweep = Sweep.load(tmp_path / "sweeps" / "nets.yaml")
    assert sweep.population.networks == ["resnet20", "mine:net"]
    assert (sweep.population.count, sweep.population.resolution) == (None, 8)
    assert sweep.replicates.architectures == 2


@pytest.mark.parametrize("name", shipped_sweeps())
def test_a_copy_of_a_shipped_sweep_is_that_sweep(tmp_path: Path, name: str) -> None:
    in_this_process(tmp_path, "init", "--from", name)
    in_this_process(tmp_path, "init", "mine", "--from", name)
    shipped = Sweep.load(SWEEPS / f"{name}.yaml")
    assert Sweep.load(tmp_path / "sweeps" / f"{Path(name).name}.yaml") == shipped
    renamed = tmp_path / "sweeps" / "mine.yaml"
    assert Sweep.load(renamed).differences_from(shipped) == {"name": (shipped.name, "mine")}
    assert f"sweeps/{name}.yaml" not in renamed.read_text().splitlines()[0]


def test_all_sweeps_are_shipped_and_have_names() -> None:
    files = {path.relative_to(SWEEPS).with_suffix("").as_posix() for path in SWEEPS.rglob("*.yaml")}
    assert shipped_sweeps().keys() == files


def test_a_name_is_a_shipped_sweep_and_a_path_is_a_file(type_: Type) -> None:
    Path("quickstart").write_text("name: of a file")
    for given, expected in (
        ("quickstart", "96 runs"),
        ("./quickstart", "missing: "),
        ("quickstart.yaml", "quickstart.yaml: no such sweep file"),
        (
            "quickstrat",
            "quickstrat: no such file, and no sweep of this package (did you mean 'quick",
        ),
    ):
        told = type_("run", given, "--dry-run")
        assert expected in told.out + told.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "give a NAME and --datasets, or --from"),
        (["mine"], "give a NAME and --datasets, or --from"),
        (["--from", "quick"], "--from: no sweep quick (did you mean 'quickstart'?); legal: "),
        (["--from", "quickstart", "--count", 20], "--count: with --from, change this in the file"),
        (["a b", "--from", "quickstart"], "`name` = 'a b'"),
    ],
)
def test_a_copy_with_a_mistake(tmp_path: Path, options: list[object], expected: str) -> None:
    assert expected in in_this_process(tmp_path, "init", *options, expect=2).stderr
    assert not (tmp_path / "sweeps").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--datasets", "a,b", "--networks", "resnet21"], "`population.networks` = ['resnet21']"),
        (["--datasets", "a,b", "--no-flip", "c"], "--no-flip: c is none of the datasets"),
        (["--datasets", "a,b", "--count", 0], "`population.count` = 0"),
        (["--datasets", "a,b", "--flops", "2,1"], "`population.flops`"),
    ],
)
def test_a_first_sweep_with_a_mistake(tmp_path: Path, options: list[object], expected: str) -> None:
    assert expected in in_this_process(tmp_path, "init", "first", *options, expect=2).stderr
    assert not (tmp_path / "sweeps").exists()


@pytest.mark.slow
def test_studies_are_listed_with_what_is_wrong_of_them(tmp_path: Path) -> None:
    assert "no such folder" in in_this_process(tmp_path, "list", expect=2).stderr
    options = ["--datasets", "digits,gratings,blobs", "--count", 2]
    in_this_process(tmp_path, "init", "first", *options)
    in_this_process(tmp_path, "sample", "sweeps/first.yaml")
    broken = tmp_path / "studies" / "second" / "sweep.yaml"
    broken.parent.mkdir()
    broken.write_text(yaml.safe_dump({"name": "second"}))
    listed = json.loads(in_this_process(tmp_path, "list", "--json").stdout)
    assert [study["study"] for study in listed] == ["first", "second"]
    assert [study["state"] for study in listed] == ["not begun", "unreadable"]
    assert (listed[0]["recorded"], listed[0]["planned"]) == (0, 12)
    assert "missing: `population`" in listed[1]["note"]
    assert "0 of 12" in in_this_process(tmp_path, "list").stdout


def test_the_keys_of_a_design_space_are_typed_and_explained(
    schema: jsonschema.Draft202012Validator,
) -> None:
    _, below = explain("population.space")
    known = {it.path for it in below}
    assert {"base", "depths", "shared", "non_decreasing", "stem", "slope"} <= known
    assert all(it.meaning for it in below)
    assert "never decrease" in explain("population.space.non_decreasing")[0].meaning
    content = load_yaml(SWEEPS / "quickstart.yaml")
    content["population"]["space"]["depth"] = [1, 2]  # of RegNet: legal in the schema
    schema.validate(content)
    content["population"]["space"]["depthz"] = [1, 2]
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(content)
