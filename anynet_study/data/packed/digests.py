"""Digests of the files of a packed dataset, and checks that they are as they were written.

`digests.json` has the BLAKE3 hash of every other file of the dataset's folder, and a hash of its
own content. `checked.json` notes the size and the time of change that each file had when its digest
was last found right. A file with the same size and time is not read again, unless a command checks
whole files (`launch`, `verify`): only these notice what the disk itself has changed.
"""

import json
from pathlib import Path

from blake3 import blake3

from anynet_study.core.files import open_regular, read_regular, write_text
from anynet_study.core.progress import Report, progress_if_long
from anynet_study.data.packed.meta import damaged

DIGESTS, CHECKED = "digests.json", "checked.json"
BLOCK = 16 << 20
#: Size in bytes, and time of the last change in nanoseconds.
Stamp = tuple[int, int]


def write_digests(folder: Path) -> None:
    """Write the digests of all files that are in `folder` now."""
    names = sorted(path.name for path in folder.iterdir() if path.name not in (DIGESTS, CHECKED))
    stamps = {name: _stamp(folder / name) for name in names}
    _write(folder, _digests(folder, stamps))
    _note(folder, stamps)


def add_file(folder: Path, name: str, text: str) -> None:
    """Add a file to a packed dataset, with its digest. The other files are not read again.

    The digests are right at any time: while the file is being written, they do not list it.
    """
    files = {other: digest for other, digest in _written(folder).items() if other != name}
    _write(folder, files)
    write_text(folder / name, text)
    _write(folder, files | _digests(folder, {name: _stamp(folder / name)}))


def _write(folder: Path, files: dict[str, str]) -> None:
    text = json.dumps({"files": files, "blake3": _of_text(files)}, indent=1)
    write_text(folder / DIGESTS, text + "\n")


def has_digests(folder: Path) -> bool:
    """Tell whether the folder has digests. Datasets of older versions have none."""
    return (folder / DIGESTS).exists()


def check_files(folder: Path, whole: bool = False) -> None:
    """Raise UserError for the first file that is missing or not as it was packed.

    `whole`: read all files, not only those whose size or time of change differs.
    """
    files, stamps = _written(folder), {}
    for name in files:
        try:
            stamps[name] = _stamp(folder / name)
        except OSError as error:
            raise damaged(folder / name, "the file is missing") from error
    noted = _noted(folder)
    changed = {name: stamp for name, stamp in stamps.items() if noted.get(name) != [*stamp]}
    _compare(folder, files, stamps if whole else changed)
    if any(noted.get(name) != [*stamp] for name, stamp in stamps.items()):
        _note(folder, stamps)


def check_kept(folder: Path) -> None:
    """Raise UserError for the first existing file that is not as it was packed.

    All existing files are read, and nothing is written.
    """
    written = _written(folder)
    there = [path for path in sorted(folder.iterdir()) if path.name in written]
    _compare(folder, written, {path.name: _stamp(path) for path in there})


CHANGED = "it has changed since it was packed"


def _written(folder: Path) -> dict[str, str]:
    """The digests in `digests.json`, by file name. UserError if that file was changed."""
    path = folder / DIGESTS
    try:
        content = json.loads(read_regular(path))
        files: dict[str, str] = content["files"]
        right = content["blake3"] == _of_text(files)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise damaged(path, "it cannot be read") from error
    if not right:
        raise damaged(path, CHANGED)
    return files


def _compare(folder: Path, written: dict[str, str], stamps: dict[str, Stamp]) -> None:
    for name, found in _digests(folder, stamps).items():
        if found != written[name]:
            raise damaged(folder / name, CHANGED)


def _of_text(files: dict[str, str]) -> str:
    return blake3(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _noted(folder: Path) -> dict[str, list[int]]:
    """The stamps in `checked.json`; empty if it cannot be read."""
    try:
        content = json.loads(read_regular(folder / CHECKED))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _note(folder: Path, stamps: dict[str, Stamp]) -> None:
    try:
        write_text(folder / CHECKED, json.dumps(stamps, indent=1) + "\n")
    except OSError:  # who may not write reads the files each time
        return


def _digests(folder: Path, stamps: dict[str, Stamp]) -> dict[str, str]:
    """The digests of these files. Shows progress if that takes long."""
    total = sum(size for size, _ in stamps.values())
    found, before = {}, 0
    with progress_if_long(f"checking {folder.name}", total >> 20, f"/{total >> 20} MB") as report:
        for name, (size, _) in stamps.items():
            found[name] = _digest(folder / name, report, before)
            before += size
    return found


def _digest(path: Path, report: Report, before: int) -> str:
    whole = blake3(max_threads=blake3.AUTO)
    with open_regular(path) as file:
        while block := file.read(BLOCK):
            whole.update(block)
            report((before + file.tell()) >> 20)
    return whole.hexdigest()
