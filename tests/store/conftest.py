"""Fixtures of the store's tests."""

import os
from stat import S_ISREG

import pytest


@pytest.fixture(autouse=True)
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing waits for the disk; the file sizes at which a file would have been fsynced."""
    sizes: list[int] = []

    def sync(handle: int) -> None:
        if S_ISREG(os.fstat(handle).st_mode):
            sizes.append(os.fstat(handle).st_size)

    monkeypatch.setattr(os, "fsync", sync)
    return sizes
