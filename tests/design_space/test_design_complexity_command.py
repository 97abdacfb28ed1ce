"""`anynet-study complexity`."""

import json
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from anynet_study.cli.complexity import complexity
from anynet_study.design_space import Architecture, Population
from anynet_study.errors import UserError

CHOSEN = Architecture((1, 2, 1, 1), (8, 16, 32, 64), (1, 2, 4, 4), (8, 4, 2, 1), stem="cifar")


def run(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(complexity)
    done = CliRunner().invoke(app, arguments)
    if done.exception:
        raise done.exception
    return done.stdout


@pytest.mark.parametrize("kind", ["inline", "json", "yaml", "population"])
def test_every_way_to_name_an_architecture(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{kind}"
    source = [str(path)]
    if kind == "inline":
        source = [json.dumps(CHOSEN.to_dict())]
    elif kind == "json":
        path.write_text(json.dumps(CHOSEN.to_dict()))
    elif kind == "yaml":
        path.write_text(yaml.safe_dump(CHOSEN.to_dict()))
    else:
        source = [str(tmp_path / "p.parquet"), "--id", CHOSEN.id]
        Population.from_architectures([CHOSEN]).write(source[0])
    printed = json.loads(run(*source, "--resolution", "32", "--classes", "10", "--json"))
    assert printed == {
        "flops": CHOSEN.flops(32, 10),
        "parameters": CHOSEN.parameters(10),
        "activations": CHOSEN.activations(32, 10),
    }


def test_the_table_is_for_people() -> None:
    printed = run(json.dumps(CHOSEN.to_dict()))
    assert f"architecture {CHOSEN.id} at 224 px, 1000 classes" in printed
    assert f"{CHOSEN.flops():,}" in printed


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    population = tmp_path / "p.parquet"
    Population.from_architectures([CHOSEN]).write(population)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for arguments, complaint in [
        ([str(population)], f"say which of its 1 architectures with --id, for .* {CHOSEN.id}"),
        ([str(population), "--id", "0"], "architecture 0 is not among the 1"),
        (["resnet.yaml"], "resnet.yaml: No such file or directory; give a YAML or JSON file"),
        ([str(tmp_path)], "Is a directory; give a YAML or JSON file"),
        (["a.yaml", "--id", "0"], "--id chooses from a population"),
        ([str(binary)], "not a text file"),
        (['{"depths": ['], "neither YAML nor JSON"),
        (['{"depths": [1, 1, 1, 1]}'], "missing widths, bottleneck_ratios, group_widths"),
    ]:
        with pytest.raises(UserError, match=complaint) as refused:
            run(*arguments)
        assert "\n" not in str(refused.value)
