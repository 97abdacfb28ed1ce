"""A published file is the old one or the new one."""

import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from anynet_study.core import files
from anynet_study.core.errors import UserError
from anynet_study.core.files import (
    STALE_SECONDS,
    beside,
    open_regular,
    put_folder,
    read_regular,
    remove_left,
    replacing,
    replacing_folder,
    sha256_of,
    updating_folder,
    write_text,
)
from anynet_study.engine.sweep.text import load_yaml


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
    assert synced[0][0].startswith(".a~")


def folder_of(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "file").write_text(content)
    return path


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(files, "_exchanged", lambda *_: False)
    target = folder_of(tmp_path / "target", "old")
    with replacing_folder(target) as made:
        (made / "file").write_text("new")
        assert (target / "file").read_text() == "old"
    assert (target / "file").read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_the_exchange_is_one_step_where_the_file_system_has_it(tmp_path: Path) -> None:
    one, other = folder_of(tmp_path / "one", "1"), folder_of(tmp_path / "other", "2")
    assert files._exchanged(one, other)
    assert (one / "file").read_text() + (other / "file").read_text() == "21"
    with pytest.raises(FileNotFoundError):
        files._exchanged(one, tmp_path / "none")


KILLED = """
import os, sys
from pathlib import Path
from anynet_study.core import files
from anynet_study.core.errors import UserError
files._exchanged = lambda *_: False
left, rename = int(sys.argv[2]), Path.rename
def counted(*paths):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    return rename(*paths)
Path.rename = counted
files.put_folder(Path(sys.argv[1]) / "made", Path(sys.argv[1]) / "target")
"""


@pytest.mark.parametrize("renames", range(4))
def test_a_kill_between_renames_loses_no_folder(tmp_path: Path, renames: int) -> None:
    """Where folders cannot be exchanged, the next command that writes puts the old one back."""
    target = folder_of(tmp_path / "target", "old")
    folder_of(tmp_path / "made", "new")
    status = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(renames)]).returncode
    assert status == (9 if renames < 3 else 0)
    remove_left(tmp_path)
    assert (target / "file").read_text() == ("old" if renames < 2 else "new")
    assert {path.name for path in tmp_path.iterdir()} <= {"target", "made"}


def test_what_dead_processes_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = socket.gethostname()
    names = {
        "dead": f".a~{host}~{ended.pid}-0123abcd.tmp",
        "dead folder": f".b~{host}~{ended.pid}-0123abcd.tmp",
        "mine": beside(tmp_path / "c").name,
        "another host's": ".a~elsewhere~1-0123abcd.tmp",
        "old, of another host": ".b~elsewhere~1-0123abcd.tmp",
        "a user's": ".a.tmp",
    }
    for what, name in names.items():
        folder_of(tmp_path / name, "") if "folder" in what else (tmp_path / name).write_text("")
    long_ago = time.time() - STALE_SECONDS - 1
    os.utime(tmp_path / names["old, of another host"], (long_ago, long_ago))
    write_text(tmp_path / "new", "")
    left = {path.name for path in tmp_path.iterdir()} - {"new"}
    assert left == {names["mine"], names["another host's"], names["a user's"]}


@pytest.mark.parametrize("what", ["a pipe", "a device", "a sparse file"])
def test_what_is_no_file_of_a_known_size_is_refused_at_once(tmp_path: Path, what: str) -> None:
    path = tmp_path / "given"
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(20 << 30)
    with pytest.raises(OSError, match=r"not a regular file|larger than 64 MiB"):
        read_regular(path)
    with pytest.raises(UserError, match=r"not a regular file|larger than 16 MiB"):
        load_yaml(path)


def test_a_folder_is_not_replaced_where_making_it_fails(tmp_path: Path) -> None:
    target = folder_of(tmp_path / "target", "old")
    with pytest.raises(OSError, match="target"), replacing_folder(target):
        raise OSError(28, "No space left on device")
    assert (target / "file").read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileNotFoundError):
        put_folder(tmp_path / "none", target)
    assert (target / "file").read_text() == "old"


def names_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_an_updated_folder_has_all_that_is_new_and_what_else_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "deep").mkdir()
    (out / "deep" / "mine.txt").write_text("mine")
    for name in ("a.csv", "b.csv", "notes.txt"):
        (out / name).write_text("old")
    with updating_folder(out, ["?.csv"]) as made:
        (made / "a.csv").write_text("new")
        assert names_in(out)["a.csv"] == "old"
    assert names_in(out) == {"a.csv": "new", "notes.txt": "old"}
    assert (out / "deep" / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("inside", [False, True], ids=["exchanged", "one by one"])
def test_an_update_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    """The current folder is not exchanged: a shell that is in it would be in none."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.csv").write_text("old")
    if inside:
        monkeypatch.chdir(out)

    def update(full: bool) -> None:
        with updating_folder(out, ["*.csv"]) as made:
            (made / "b.csv").write_text("new")
            if full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(made / "b.csv"))

    before = out.stat().st_ino
    with pytest.raises(OSError, match=r"b\.csv"):
        update(full=True)
    assert names_in(out) == {"a.csv": "old"}
    update(full=False)
    assert names_in(out) == {"b.csv": "new"}
    assert (out.stat().st_ino == before) == inside
    assert list(tmp_path.rglob(".*")) == []


def test_nothing_made_makes_no_folder(tmp_path: Path) -> None:
    with updating_folder(tmp_path / "out", []):
        pass
    assert not (tmp_path / "out").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (open_regular, read_regular, sha256_of):
        with pytest.raises(OSError, match="not a regular file"):
            read(tmp_path / "pipe")


@pytest.mark.parametrize("read", [files.read_regular, files.sha256_of])
def test_a_read_that_fails_names_its_file(read: Callable[[Path], object]) -> None:
    never_read = Path("/proc/self/mem")  # its first byte is no process's
    with pytest.raises(OSError, match=f"Input/output error: '{never_read}'"):
        read(never_read)
