"""Whether a packed dataset is as it was written: a digest of every file, and cheap checks of them.

`digests.json` has the BLAKE3 hash of every other file of the dataset's folder, and one of itself.
`checked.json` notes size and time of change of each file when its digest was last found right. A
file of which these are the same is not read again, but where all are asked for (`launch`,
`verify`); what the disk changes by itself shows then.
"""

import json
from pathlib import Path

from blake3 import blake3

from anynet_study.data.packed.meta import damaged
from anynet_study.files import read_regular, write_text
from anynet_study.progress import Report, progress_if_long

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
    """Write a further file of a packed dataset, and its digest; the others are not read again.

    At any time the digests are right: while the file is written they do not have it.
    """
    files = {other: digest for other, digest in _written(folder).items() if other != name}
    _write(folder, files)
    write_text(folder / name, text)
    _write(folder, files | _digests(folder, {name: _stamp(folder / name)}))


def _write(folder: Path, files: dict[str, str]) -> None:
    text = json.dumps({"files": files, "blake3": _of_text(files)}, indent=1)
    write_text(folder / DIGESTS, text + "\n")


def has_digests(folder: Path) -> bool:
    """Whether there are any: datasets of older versions have none."""
    return (folder / DIGESTS).exists()


def check_files(folder: Path, whole: bool = False) -> None:
    """UserError naming the first file that is not as it was packed, or is not there.

    `whole`: read all of them, not only those that have changed by size or time.
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
    """UserError naming the first file of those that are there that is not as it was packed.

    All of them are read, and nothing is written.
    """
    written = _written(folder)
    there = [path for path in sorted(folder.iterdir()) if path.name in written]
    _compare(folder, written, {path.name: _stamp(path) for path in there})


CHANGED = "it has changed since it was packed"


def _written(folder: Path) -> dict[str, str]:
    """The digests as they were written, by name. UserError where they are not."""
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
    """The stamps that were noted; none where they cannot be read."""
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
    """The digests of these files, with a bar where that takes long."""
    total = sum(size for size, _ in stamps.values())
    found, before = {}, 0
    with progress_if_long(f"checking {folder.name} (MB)", total >> 20) as report:
        for name, (size, _) in stamps.items():
            found[name] = _digest(folder / name, report, before)
            before += size
    return found


def _digest(path: Path, report: Report, before: int) -> str:
    whole = blake3(max_threads=blake3.AUTO)
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            whole.update(block)
            report((before + file.tell()) >> 20)
    return whole.hexdigest()
