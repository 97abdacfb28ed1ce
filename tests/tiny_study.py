"""A study that trains in seconds, and commands typed in this process to try it with."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import train_here
from PIL import Image

from anynet_study.cli import main

#: 4 architectures x 3 datasets; the last changes to a sweep file win, so tests append theirs.
TINY = """
name: tiny
population:
  space: {base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}
  count: 4
  flops: [5.0e4, 2.0e5]
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {per_class: 20}
  digits-2: {base: digits, classes: 2, per_class: 20}
  blobs: {per_class: 20}
recipes: {basic: {epochs: 1, batch_size: 16, crop: none, flip: false}}
"""
RUNS = 12

#: Lines of the account of a table.
ACCOUNT = re.compile(
    r".+: one row per (run|model)$|(models|values|datasets|columns .*|spread .*|note): "
)


@dataclass(frozen=True)
class Told:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line that it said on stderr, beside what a table was taken for."""
        lines = [line for line in self.err.splitlines() if not ACCOUNT.match(line)]
        assert len(lines) == 1, self.err
        return lines[0]


Type = Callable[..., Told]


def typing_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Type:
    """A function that runs `anynet-study` in `folder`, in this process, as the shell would.

    `run` trains in this process: workers would take far longer than the rest of a tiny study.
    """
    monkeypatch.setattr("anynet_study.engine.stages.train_all", train_here)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ANYNET_DATA", str(folder / "data"))

    def type_(*arguments: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["anynet-study", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Told(int(ended.value.code or 0), out, err)

    return type_


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder below `folder`: size and time of its last change."""
    paths = {path: path.lstat() for path in folder.rglob("*") if path.name != ".lock"}
    return {
        str(path.relative_to(folder)): (stat.st_size, stat.st_mtime_ns if path.is_file() else 0)
        for path, stat in paths.items()
    }


def images(folder: Path, classes: dict[str, int], broken: int = 0) -> Path:
    """A folder of images a class; the first `broken` of the first class are none."""
    for shade, (name, count) in enumerate(classes.items()):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            colour = (40 * shade, 5 * number, 255 - number)
            Image.new("RGB", (9, 9), colour).save(folder / name / f"{number}.png")
    for number in range(broken):
        (folder / next(iter(classes)) / f"{number}.png").write_bytes(b"\x89PNG, but broken")
    return folder
