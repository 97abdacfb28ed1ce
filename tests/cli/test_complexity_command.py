"""`anynet-study complexity`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import yaml
from typer.testing import CliRunner

from anynet_study.cli.complexity import complexity
from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, Population, reference
from anynet_study.design_space.reference import REFERENCE_NAMES

CHOSEN = Architecture((1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar")
COSTS = ("flops", "parameters", "activations", "training_memory")


def run(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(complexity)
    done = CliRunner().invoke(app, arguments)
    if done.exception:
        raise done.exception
    return done.stdout


def costs(a: Architecture, resolution: int, classes: int, batch: int = 128) -> dict[str, int]:
    return {
        "flops": a.flops(resolution, classes),
        "parameters": a.parameters(classes),
        "activations": a.activations(resolution, classes),
        "training_memory": a.training_memory(batch, resolution, classes),
    }


def costs_of(printed: dict[str, Any]) -> dict[str, int]:
    return {name: printed[name] for name in COSTS}


@pytest.mark.parametrize("kind", ["inline", "json", "yaml", "population"])
def test_every_way_to_name_an_architecture(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{kind}"
    source, name = [str(path)], str(path)
    if kind == "inline":
        source, name = [json.dumps(CHOSEN.to_dict())], CHOSEN.id
    elif kind == "json":
        path.write_text(json.dumps(CHOSEN.to_dict()))
    elif kind == "yaml":
        path.write_text(yaml.safe_dump(CHOSEN.to_dict()))
    else:
        source, name = [str(tmp_path / "p.parquet"), "--id", CHOSEN.id], CHOSEN.id
        Population.from_architectures([CHOSEN]).write(source[0])
    printed = json.loads(run(*source, "--resolution", "32", "--classes", "10", "--json"))
    assert costs_of(printed) == costs(CHOSEN, 32, 10)
    assert (printed["name"], printed["id"]) == (name, CHOSEN.id)
    assert Architecture.from_dict(printed["architecture"]) == CHOSEN
    assert (printed["resolution"], printed["classes"], printed["batch"]) == (32, 10, 128)


@pytest.mark.parametrize("name", ["regnety_400mf", "resnet18", "plain20"])
def test_parts_add_up(name: str) -> None:
    printed = json.loads(run(name, "--json", "--batch", "7"))
    a = reference(name)
    parts = [printed["stem"], *printed["stages"], printed["head"]]
    for cost in COSTS:
        assert sum(part[cost] for part in parts) == printed[cost]
    place = (printed["resolution"], printed["classes"])
    assert place == ((32, 10) if name == "plain20" else (224, 1000))
    assert costs_of(printed) == costs(a, *place, batch=7)
    of_stages = {key: [stage[key] for stage in printed["stages"]] for key in ("blocks", "width")}
    assert of_stages == {"blocks": list(a.depths), "width": list(a.widths)}
    assert [part["side"] for part in parts[:-1]] == {
        "regnety_400mf": [112, 56, 28, 14, 7],
        "resnet18": [56, 56, 28, 14, 7],
        "plain20": [32, 32, 16, 8],
    }[name]
    assert printed["head"]["parameters"] == (a.widths[-1] + 1) * place[1]


def test_one_network_by_its_stages_for_people() -> None:
    printed = run("ResNet-50")
    assert f"resnet50: architecture {reference('resnet50').id} at 224 px, 1000 classes" in printed
    assert "FLOPs 4,089,184,256, parameters 25,557,032, activations 11,114,984" in printed
    assert "stage 4  809.2M  19.8      14.96M  58.6       627.2k   5.6" in printed
    assert "stage 3       6   1024         256       1   14x14" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_several_networks_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(CHOSEN.to_dict()))
    inline = json.dumps(CHOSEN.to_dict())
    printed = run("resnet50", inline, "resnet20")
    rows = {line.split()[0]: line.split() for line in printed.splitlines() if line}
    assert rows["resnet50"][1:6] == ["224", "1000", "4,089.2", "25.56", "11.11"]
    assert rows["resnet20"][1:6] == ["32", "10", "40.8", "0.27", "0.20"]
    assert rows[CHOSEN.id][1:3] == ["224", "1000"]
    same = run("resnet50", "resnet20", "--resolution", "64", "--classes", "100", "--batch", "1")
    assert same.startswith("2 networks at 64 px, 100 classes; memory of training with batch 1\n")
    several = json.loads(run("resnet50", str(path), "--json"))
    assert [one["name"] for one in several] == ["resnet50", str(path)]
    assert several[0] == json.loads(run("resnet50", "--json"))


def test_a_function_of_ones_own_is_built_and_traced(tmp_path: Path) -> None:
    own, at = "own_models:plain", ("--resolution", "8", "--classes", "4")
    printed = json.loads(run(own, *at, "--json"))
    # Convolutions 3x3 of 3 to 8 channels on 8x8, 3x3 depthwise and 1x1 to 12 on 4x4, linear to 4.
    assert printed["flops"] == 64 * 27 * 8 + 16 * 9 * 8 + 16 * 8 * 12 + 12 * 4
    assert printed["parameters"] == (27 + 1) * 8 + 2 * 8 + (9 + 1) * 8 + (8 + 1) * 12 + (12 + 1) * 4
    assert "stages" not in printed
    assert run(own, *at).startswith("1 network at 8 px, 4 classes; memory of training")
    (tmp_path / "nets.csv").write_text(f"network\n{own}\nresnet20\n")
    printed = json.loads(run(str(tmp_path / "nets.csv"), *at, "--json"))
    assert (printed["count"], printed["parameters"]["lowest"]) == (2, 480)


def test_the_list_of_reference_networks() -> None:
    printed = run("--list")
    listed = [line.split()[0] for line in printed.splitlines()[4:]]
    assert listed == list(REFERENCE_NAMES)
    assert max(map(len, printed.splitlines())) <= 80
    assert [one["name"] for one in json.loads(run("--list", "--json"))] == list(REFERENCE_NAMES)


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.json", "p.CSV", "study"])
def test_a_population_is_shown_by_its_quartiles(name: str, tmp_path: Path) -> None:
    members = [reference(name) for name in ("resnet18", "resnet50", "regnety_400mf", "plain20")]
    path = str(tmp_path / name)
    file = f"{path}/population.parquet" if name == "study" else path
    Population.from_architectures(members, 224, 1000).write(file)
    for options, place in (([], (224, 1000)), (["--resolution", "32"], (32, 1000))):
        printed = json.loads(run(path, "--json", *options))
        assert (printed["count"], printed["resolution"], printed["classes"]) == (4, *place)
        for name in COSTS:
            values = [costs(member, *place)[name] for member in members]
            expected = np.percentile(values, [0, 25, 50, 75, 100]).tolist()
            assert list(printed[name].values()) == expected
    shown = run(path)
    assert shown.startswith("4 architectures at 224 px, 1000 classes")
    assert "FLOPs (M)" in shown
    assert f"--id {members[0].id}" in shown


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    population = tmp_path / "p.parquet"
    Population.from_architectures([CHOSEN]).write(population)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for arguments, complaint in [
        ([], "name a network, a file or a population; --list shows"),
        ([str(population), "resnet50"], "give a population alone, or choose of it with --id"),
        ([str(population), "--id", "0"], "architecture 0 is not among the 1"),
        ([str(population), "resnet50", "--id", CHOSEN.id], "--id chooses from a population"),
        (["--list", "--id", "0"], "--id chooses from a population"),
        (["resnet.yaml"], "resnet.yaml: no such file of an architecture"),
        ([str(tmp_path)], "cannot be read: Is a directory"),
        (["resnet51"], "resnet51: neither a file nor a reference network .*resnet5.*; --list"),
        (["regnetx_1.7gf"], r"nor a reference network \(did you mean 'regnetx_1.6gf'"),
        ([str(binary)], "not a text file"),
        (['{"depths": ['], "neither YAML nor JSON"),
        (['{"depths": [1, 1, 1, 1]}'], "missing widths"),
        (["resnet50", "--resolution", "0"], "resolution: 0 is not a whole number from 1"),
        ([str(population), "--batch", "0"], "batch: 0 is not a whole number from 1"),
    ]:
        with pytest.raises(UserError, match=complaint) as refused:
            run(*arguments)
        assert "\n" not in str(refused.value)
