"""A published file is the old one or the new one."""

import os
from pathlib import Path

import pytest

from anynet_study.files import replacing, write_text


def test_replaces_whole(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "a", "old")
    write_text(tmp_path / "deep" / "a", "new")
    assert (tmp_path / "deep" / "a").read_text() == "new"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a"]


def interrupted_write(path: Path, error: BaseException) -> None:
    with replacing(path) as temporary:
        temporary.write_text("half")
        raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interruption_leaves_the_old_file_and_no_litter(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "a"
    write_text(path, "old")
    with pytest.raises(type(error)):
        interrupted_write(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_is_synced_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []

    def sync(handle: int) -> None:
        place = Path(os.readlink(f"/proc/self/fd/{handle}"))
        synced.append((place.name, (tmp_path / "a").exists()))

    monkeypatch.setattr(os, "fsync", sync)
    write_text(tmp_path / "a", "new")
    assert synced[-1] == (tmp_path.name, True)
    assert synced[0][0].startswith(".a.")
