"""Publishing files, so that a reader sees the old or the new one, never half of one; digests."""

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success fsync it and rename it over `path`.

    On any exception (a full disk, Ctrl-C) the temporary file is removed and `path` is untouched;
    an OSError names `path`.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Process ids repeat across the machines that share a file system.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with naming(path, temporary):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
    finally:
        with suppress(OSError):  # a read-only folder refuses this too, whatever is there
            temporary.unlink()


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, as far as its file system can: a rename is one."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an OSError that names no file, as of a full disk, or the temporary one, name `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and str(error.filename) != str(temporary):
            raise
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, reason, str(path)) from error


def sha256_of(path: Path) -> str:
    """SHA-256 of the content of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_text(path: Path, text: str, mode: int | None = None) -> None:
    """Write `text` to `path` atomically; with `mode` as its permissions, whatever the umask."""
    with replacing(path) as temporary:
        if mode is not None:
            temporary.touch(mode=0o600)
            temporary.chmod(mode)
        temporary.write_text(text, encoding="utf-8")
