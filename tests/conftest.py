"""Fixtures shared by all rooms."""

import os
from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real image archives beside the checkout; CI fails where it is absent."""
    if not SHARED_DATA.is_dir():
        reason = "real image archives are not beside this checkout (../shared/data)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return SHARED_DATA


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory, set as $ANYNET_DATA."""
    home = tmp_path / "data"
    monkeypatch.setenv("ANYNET_DATA", str(home))
    return home
