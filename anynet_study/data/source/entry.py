"""What is met in an archive, one member after the other."""

from typing import IO, NamedTuple

from anynet_study.errors import UserError


class Entry(NamedTuple):
    """A member as its archive tells it: a folder or a regular file, nothing else."""

    name: str
    #: How far the archive has been read, in bytes.
    position: int
    #: Bytes; None for a folder.
    size: int | None = None
    #: Where the bytes are in the archive, if they are there as they are.
    offset: int | None = None
    #: Else what they are read from.
    content: IO[bytes] | None = None


def refused(archive: str, member: str, reason: str) -> UserError:
    """The error for a member that is not read."""
    return UserError(f"{archive}: member {member!r} refused: {reason}")
