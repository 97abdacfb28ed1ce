"""How much may be unpacked of archives that may be hostile."""

from dataclasses import dataclass

from anynet_study.errors import UserError


@dataclass(frozen=True)
class Limits:
    """What an archive may contain at most. ImageNet has 1.4 million files, 160 GB."""

    members: int = 3_000_000
    #: Bytes of all files.
    total_bytes: int = 1 << 40
    #: Unpacked over archived bytes, once more than `free_bytes` are unpacked.
    ratio: float = 200.0
    free_bytes: int = 256 << 20


DEFAULTS = Limits()


class Budget:
    """What may still be unpacked of archives of `archived` bytes, those inside them included."""

    def __init__(self, archived: int, limits: Limits = DEFAULTS) -> None:
        self._members = limits.members
        self._limits = limits
        most = max(limits.free_bytes, int(limits.ratio * archived))
        self._bytes = min(limits.total_bytes, most)

    def take_member(self, archive: str) -> None:
        """Count one more member; UserError if it is one too many."""
        self._members -= 1
        if self._members < 0:
            raise UserError(f"{archive}: more than {self._limits.members} members")

    def take_bytes(self, count: int, archive: str, member: str) -> None:
        """Count bytes that will be written; UserError if they are too many."""
        self._bytes -= count
        if self._bytes < 0:
            raise UserError(f"{archive}: {member!r} makes it too large when unpacked")
