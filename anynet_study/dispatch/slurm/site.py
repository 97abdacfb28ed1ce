"""What a Slurm site allows, as its own commands tell."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from anynet_study.dispatch.slurm.ask import told

#: Slurm's default.
ARRAY_SIZE = 1001
#: `days-hours:minutes:seconds`, of which the beginning may be missing.
LIMIT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")


@dataclass(frozen=True)
class Site:
    """Limits of a Slurm; by default what holds for most."""

    #: MaxArraySize: tasks of an array are numbered from 0 and below it; 0: there are no arrays.
    array_size: int = ARRAY_SIZE
    #: The longest time limit of a job in minutes, by partition; "" is the default one. Those
    #: without a limit are left out.
    longest_min: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def ask(cls) -> "Site":
        """Ask Slurm, by one scontrol and one sinfo; defaults for what they do not tell."""
        size = re.search(r"^MaxArraySize\s*=\s*(\d+)", told("scontrol", "show", "config"), re.M)
        longest = {}
        for line in told("sinfo", "--noheader", "--format=%P|%l").splitlines():
            partition, _, limit = line.partition("|")
            minutes = _minutes(limit)
            if minutes is not None:
                longest[partition.rstrip("*")] = minutes
                if partition.endswith("*"):
                    longest[""] = minutes
        return cls(int(size[1]) if size else ARRAY_SIZE, longest)

    def longest(self, partitions: str) -> float | None:
        """The longest time limit in minutes in any of some partitions, separated by commas."""
        limits = [self.longest_min.get(name) for name in partitions.split(",")]
        known = [limit for limit in limits if limit is not None]
        return max(known) if len(known) == len(limits) else None


def _minutes(limit: str) -> float | None:
    found = LIMIT.fullmatch(limit.strip())
    if not found:  # infinite
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 24 * 60 * days + 60 * hours + minutes + seconds / 60
