"""What verifying finds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

#: Bytes of predictions that are looked at together.
BYTES_AT_ONCE = 1 << 24
#: So many names are given of what is wrong in the same way.
EXAMPLES = 3

#: Called with the number of bytes that were looked at.
Progress = Callable[[int], None]


#: How it comes right: by building the store anew, by training what is missing, not at all (and
#: then the store has to be kept as it is); or there is nothing to repair.
Repair = Literal["collect", "train", "keep", "none"]


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    #: A file, or a place inside the store such as /runs/error.
    where: str
    what: str
    repair: Repair = "collect"

    @property
    def note(self) -> bool:
        """Worth knowing, but nothing is lost or wrong: a journal that is being written."""
        return self.repair == "none"


#: What a check yields.
Findings = Iterator[Finding]


def some(names: Sequence[Any]) -> str:
    """A number of things and the first of them: `12 (a, b, c, ...)`."""
    first = ", ".join(str(name) for name in names[:EXAMPLES])
    more = ", ..." if len(names) > EXAMPLES else ""
    return f"{len(names)} ({first}{more})"
