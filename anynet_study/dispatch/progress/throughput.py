"""How fast runs end, and what they cost so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HOUR = 3600.0


@dataclass(frozen=True)
class Pace:
    """What the records of a study say of its speed; see `journal_reader.JournalReader`."""

    #: When recorded runs ended, and when the first of them began (seconds since 1970).
    ended: Sequence[float]
    began: float
    #: Seconds that recorded runs and their further evaluations took, by device.
    spent: Mapping[str, float]

    def runs_per_hour(self, now: float) -> float | None:
        """Over the last hour, or since the first run began; None before any has ended."""
        if not len(self.ended):
            return None
        hours = min(HOUR, max(1.0, now - self.began)) / HOUR
        return float((np.asarray(self.ended) > now - HOUR).sum()) / hours

    def hours(self) -> dict[str, float]:
        """Of a core (`cpu`), or of a GPU by its name."""
        return {device: seconds / HOUR for device, seconds in self.spent.items() if seconds}
