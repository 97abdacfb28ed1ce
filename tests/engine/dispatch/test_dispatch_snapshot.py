"""The snapshot of the code: what workers import, whatever is edited after the launch."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from anynet_study.core.provenance import PACKAGE, code_version
from anynet_study.engine.dispatch.snapshot import snapshot, take
from anynet_study.engine.study_folder import StudyFolder

SAYS = "import anynet_study.core.provenance as it; print(it.__file__, it.code_version())"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that is edited: its own provenance, and a file that is no Python."""
    folder = tmp_path / "checkout" / "anynet_study"
    for name in ("pages", "core", "__pycache__"):
        (folder / name).mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "core" / "__init__.py").touch()
    (folder / "pages" / "page.html").write_text("page")
    own = Path("core", "provenance.py")
    (folder / own).write_bytes((PACKAGE / own).read_bytes())
    for name in ("provenance.pyc", "provenance.pyc.1397"):  # the second is being written
        (folder / "__pycache__" / name).write_bytes(b"no source")
    return folder


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_it_is_the_package_as_it_is_and_is_taken_once(tmp_path: Path, package: Path) -> None:
    code = tmp_path / "code"
    assert not snapshot(code, package).folder.exists()
    taken = take(code, package)
    assert taken.folder.stat().st_mode & 0o077 == 0  # for nobody else to change
    assert taken == snapshot(code, package) == take(code, package)
    names = ["VERSION", "__init__.py", "core/__init__.py", "core/provenance.py", "pages/page.html"]
    assert files(taken.folder / "anynet_study") == names
    assert [path.name for path in code.iterdir()] == [taken.folder.name]


def test_an_edit_makes_another_and_leaves_the_first(tmp_path: Path, package: Path) -> None:
    code = tmp_path / "code"
    first = take(code, package)
    (package / "pages" / "page.html").write_text("other")
    second = take(code, package)
    assert second != first
    assert (first.folder / "anynet_study/pages/page.html").read_text() == "page"
    (package / "pages" / "page.html").rename(package / "page.html")
    assert snapshot(code, package) not in (first, second)


def test_the_one_taken_last_is_kept(tmp_path: Path, package: Path) -> None:
    study = StudyFolder(tmp_path / "study")
    first = take(study.code, package)
    (package / "more.py").touch()
    second = take(study.code, package)
    (package / "more.py").unlink()
    os.utime(second.folder, (1.0, 1.0))
    assert take(study.code, package) == first
    fresh = study.code / f".{first.folder.name}.1-x.tmp"  # as of a launch on another machine
    fresh.mkdir()
    half = study.folder / ".sweep.yaml.1-x.tmp"
    half.touch()
    study.remove_litter([])
    assert {fresh, half} <= set(study.folder.rglob("*.tmp"))
    for path in (fresh, half):
        os.utime(path, (1.0, 1.0))
    study.remove_litter([])
    assert [path.name for path in study.code.iterdir()] == [first.folder.name]


def python_in(folder: Path, environment: dict[str, str], shell: str = "") -> str:
    command = f"{shell}\n{shlex.join([sys.executable, '-c', SAYS])}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("other", ["", "/some/where:/else"])
def test_workers_import_it_wherever_they_are(
    tmp_path: Path, package: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = take(tmp_path / "with a space", package)
    expected = f"{taken.folder}/anynet_study/core/provenance.py {code_version()}\n"
    monkeypatch.setenv("PYTHONPATH", other)
    plain = dict(os.environ)
    assert python_in(package.parent, plain, "\n".join(taken.setup)) == expected
    # Without the snapshot it is the checkout that is current.
    assert str(package) in python_in(package.parent, plain)
