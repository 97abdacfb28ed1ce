"""What a probe found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """A line of the doctor's table."""

    check: str
    found: str
    #: What to set or do; "" if nothing.
    advice: str = ""
    #: note: works, but is worth knowing; problem: jobs or files will suffer.
    level: Literal["ok", "note", "problem"] = "ok"
