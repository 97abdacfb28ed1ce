"""What a shell completes a command line to."""

from pathlib import Path

import pytest
from command import told


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("anynet-study ana", ["analyze"]),
        ("anynet-study status qui", ["quickstart"]),
        ("anynet-study analyze ", ["quickstart", "errors.csv", "studies"]),
        ("anynet-study query quickstart --table err", ["errors"]),
    ],
)
def test_commands_options_studies_and_files(
    tmp_path: Path, typed: str, expected: list[str]
) -> None:
    (tmp_path / "studies" / "quickstart").mkdir(parents=True)
    (tmp_path / "studies" / "quickstart" / "sweep.yaml").touch()
    (tmp_path / "errors.csv").touch()
    shell = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    environ = {**shell, "_ANYNET_STUDY_COMPLETE": "complete_bash"}
    assert told(tmp_path, (), environ).stdout.split() == expected
