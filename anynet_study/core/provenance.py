"""The record of which code made a result."""

import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

#: The folder of the package, a checkout's or a copy.
PACKAGE = Path(__file__).parents[1]
#: In a copy of the package, installed or of a study: what was copied.
VERSION_FILE = "VERSION"


@cache
def code_version() -> str:
    """The package's version, and the commit of the checkout that it runs or was made from.

    With `+dirty` if the package was edited since that commit. `setup.py` writes it into what is
    installed, `dispatch.snapshot` into the copy of a study.
    """
    told = PACKAGE / VERSION_FILE
    if told.exists():
        return told.read_text(encoding="utf-8")
    return with_commit(version("anynet-study"), PACKAGE.parent)


def with_commit(release: str, checkout: Path) -> str:
    """A release's number, and the commit of a checkout; the number alone where there is no git."""
    if not (checkout / ".git").exists():
        return release
    commit = _git(checkout, "rev-parse", "--short=12", "HEAD")
    edited = "+dirty" if _git(checkout, "status", "--porcelain", "--", "anynet_study") else ""
    return f"{release} {commit}{edited}" if commit else release


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
