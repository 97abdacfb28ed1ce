"""Which code made a result."""

import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def code_version() -> str:
    """The package's version, and the commit where it runs from a checkout (`+dirty` if edited)."""
    checkout = Path(__file__).parents[1]
    release = version("anynet-study")
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
