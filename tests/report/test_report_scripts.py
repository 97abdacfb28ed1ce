"""The scripts of paper 1's figures run on a store and on a table."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT
from small_study import run_records, small_study, write_store

ROLES = ("--source", "base", "--family", "base=10,base-5=5", "--targets", "target-0=4")


def run_script(name: str, folder: Path, *arguments: str) -> set[str]:
    """Run analysis/NAME.py in `folder`; the names of the files it wrote to out/."""
    script = ROOT / "analysis" / f"{name}.py"
    command = [sys.executable, str(script), *arguments, "-o", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return {path.name for path in (folder / "out").iterdir()}


@pytest.mark.parametrize(
    ("name", "stems"), [("figure7", ["figure7a", "figure7b"]), ("figure_a7", ["figure_a7"])]
)
def test_figures_of_a_store(name: str, stems: list[str], tmp_path: Path) -> None:
    study = small_study(6)
    write_store(tmp_path, study, run_records(study))
    written = run_script(name, tmp_path, "results.h5")
    assert written == {f"{stem}.{suffix}" for stem in stems for suffix in ("png", "pdf")}


@pytest.mark.parametrize(
    ("name", "options"), [("figure3", ROLES), ("figure5", ROLES), ("figure_a8", ())]
)
def test_figures_of_a_table(
    name: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_study(6).errors.to_csv(tmp_path / "errors.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, "errors.csv", *options, "-o", "out"])
    with pytest.raises(SystemExit) as ended:  # in this process: a quarter of the time
        runpy.run_path(str(ROOT / "analysis" / f"{name}.py"), run_name="__main__")
    assert not ended.value.code
    written = {path.name for path in Path("out").iterdir()}
    assert written == {f"{name}.png", f"{name}.pdf"}
