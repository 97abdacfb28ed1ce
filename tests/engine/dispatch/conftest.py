"""A study that has begun, on a Slurm made of scripts."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from anynet_study.engine.dispatch.opened import OpenStudy


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "OpenStudy":
    from scripted_study import begun

    return begun(tmp_path, monkeypatch)
