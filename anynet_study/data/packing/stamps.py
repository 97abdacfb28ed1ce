"""Whether the files of a source are still those that were packed."""

import hashlib
import os
from collections.abc import Iterable, Sequence

import numpy as np

from anynet_study.data.source.images import Encoded, members_of
from anynet_study.data.source.member import Member


def stamp_of(images: Sequence[Encoded]) -> bytes:
    """A hash of what tells a changed file: its size and time; of an array, its bytes."""
    stamp = hashlib.sha256()
    for image in images:
        if isinstance(image, np.ndarray):
            stamp.update(np.ascontiguousarray(image).data)
        else:
            for member in members_of(image):
                stamp.update(_stamp_of_file(member))
    return stamp.digest()


def chained(chain: bytes, stamps: Iterable[bytes]) -> bytes:
    """The stamp of blocks of images that follow those of the stamp `chain`."""
    for stamp in stamps:
        chain = hashlib.sha256(chain + stamp).digest()
    return chain


def _stamp_of_file(member: Member) -> bytes:
    try:
        status = os.stat(member.file)
    except OSError:
        return b"missing;"
    place = member.offset, status.st_size if member.size is None else member.size
    return repr((*place, status.st_size, status.st_mtime_ns)).encode()
