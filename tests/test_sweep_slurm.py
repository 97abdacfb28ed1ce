"""Slurm's options in a sweep: submitit's names, checked when the sweep is loaded."""

from pathlib import Path
from typing import Any

import pytest
from tiny_study import TINY

from anynet_study.errors import UserError
from anynet_study.sweep import Sweep


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.mark.parametrize(
    ("override", "checked"),
    [
        ("partition=gpu", "gpu"),
        ("account=4711", "4711"),
        ("qos=null", None),
        ("gres='gpu:a100:1'", "gpu:a100:1"),
        ("mem_gb=0.5", 0.5),
        ("exclusive=true", True),
        ("setup=module load cuda", ["module load cuda"]),
        ("srun_args=[--cpu-bind=cores]", ["--cpu-bind=cores"]),
        ("additional_parameters={hold: true}", {"hold": True}),
        ("python=apptainer exec study.sif python", "apptainer exec study.sif python"),
    ],
)
def test_options_are_what_submitit_wants(sweep: Path, override: str, checked: Any) -> None:
    options = Sweep.load(sweep, [f"launch.slurm.{override}"]).launch.slurm
    assert options.get(override.partition("=")[0]) == checked


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            "partion=gpu",
            "unknown option `partion`; did you mean `partition`? legal keys: account, ",
        ),
        ("command=ls", "unknown option `command`"),
        ("timeout_min=4 hours", "timeout_min = '4 hours': input should be a valid integer"),
        ("timeout_min=0", "timeout_min = 0: input should be greater than 0"),
        ("array_parallelism=0", "array_parallelism = 0: input should be greater than 0"),
        ("tasks_per_node=2", "tasks_per_node = 2: a job is one process; legal: 1"),
        ("setup={a: b}", "setup = {'a': 'b'}: input should be a valid list"),
    ],
)
def test_others_are_refused_in_one_line(sweep: Path, override: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        Sweep.load(sweep, [f"launch.slurm.{override}"])
    assert f"`launch.slurm`: {said}" in str(refused.value)
    assert "\n" not in str(refused.value)
