"""Unpacking an archive once, however often the work that follows is interrupted."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from anynet_study.data.source.archives import unpack
from anynet_study.data.source.budget import Budget
from anynet_study.data.source.member import Member
from anynet_study.files import write_text

#: What the file is called that says where things are in an unpacked one.
SUFFIX = ".json"


def unpack_once(
    archive: Member,
    name: str,
    target: Path,
    budget: Budget,
    report: Callable[[int], None] = lambda read: None,
) -> dict[str, Member]:
    """As `archives.unpack`, or what that gave when the same archive was unpacked to `target`."""
    mark = target.with_name(target.name + SUFFIX)
    stamp = _stamp_of(archive)
    known = _read(mark, stamp, archive, target)
    if known is not None:
        return known
    target.unlink(missing_ok=True)
    members = unpack(archive, name, target, budget, report)
    if target.exists():
        with target.open("rb+") as file:
            os.fsync(file.fileno())
        places = [
            (path, member.file == archive.file, member.offset, member.size)
            for path, member in members.items()
        ]
        write_text(mark, json.dumps({"stamp": stamp, "members": places}))
    return members


def _stamp_of(archive: Member) -> list[object]:
    status = os.stat(archive.file)
    # Not where it is: that of an archive inside another is in a folder with another name now.
    return [status.st_size, status.st_mtime_ns, archive.offset, archive.size]


def _read(
    mark: Path, stamp: list[object], archive: Member, target: Path
) -> dict[str, Member] | None:
    try:
        known = json.loads(mark.read_bytes())
    except (OSError, ValueError):
        return None
    if known["stamp"] != stamp or not target.exists():
        return None
    return {
        path: Member(archive.file if inside else str(target), offset, size)
        for path, inside, offset, size in known["members"]
    }
