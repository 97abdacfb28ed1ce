"""A published file is the old one or the new one."""

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
