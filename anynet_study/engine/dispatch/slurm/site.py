"""What a Slurm site allows, as its own commands tell, and which of its nodes to leave out."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from anynet_study.engine.dispatch.slurm.commands import PATIENCE, ask, output_of

#: Slurm's default.
ARRAY_SIZE = 1001
#: The kind of GPU in a node's resources: `gpu:h200:8(S:0-1)`.
GPU_TYPE = re.compile(r"\bgpu:([A-Za-z][^:,(]*)")
#: `days-hours:minutes:seconds`, of which the beginning may be missing.
LIMIT = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
#: If more than this share of the nodes would be excluded, none is.
LARGEST_SHARE = 0.5


@dataclass(frozen=True)
class Site:
    """Limits of a Slurm; by default what holds for most."""

    #: MaxArraySize: tasks of an array are numbered from 0 and below it; 0: there are no arrays.
    array_size: int = ARRAY_SIZE
    #: The longest time limit of a job in minutes, by partition; "" is the default one. Those
    #: without a limit are left out.
    longest_min: Mapping[str, float] = field(default_factory=dict)
    #: The kinds of GPU in the nodes of each partition, as the site calls them; "" as above.
    gpus: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Why a Slurm that is there did not answer; "" if it did.
    silence: str = ""

    @classmethod
    def ask(cls, patience: float = PATIENCE) -> "Site":
        """Ask Slurm, by one scontrol and one sinfo; defaults for what they do not tell.

        Each may take `patience` seconds; where the first is silent, the second is not asked.
        """
        told = ask("scontrol", "show", "config", patience=patience)
        if not told.works:
            return cls(silence=told.error if told.is_there else "")
        size = re.search(r"^MaxArraySize\s*=\s*(\d+)", told.text, re.M)
        longest: dict[str, float] = {}
        gpus: dict[str, frozenset[str]] = {}
        for line in ask("sinfo", "--noheader", "--format=%P|%l|%G", patience=patience).lines:
            partition, limit, resources = (line + "||").split("|")[:3]
            minutes = _minutes(limit)
            for name in {partition.rstrip("*"), *([""] if partition.endswith("*") else [])}:
                if minutes is not None:
                    longest[name] = minutes
                gpus[name] = gpus.get(name, frozenset()) | set(GPU_TYPE.findall(resources))
        return cls(int(size[1]) if size else ARRAY_SIZE, longest, gpus)

    def gpu(self, partitions: str) -> str:
        """The kind of GPU in some partitions, separated by commas; "" if not known to be one."""
        kinds = {kind for name in partitions.split(",") for kind in self.gpus.get(name, ())}
        return kinds.pop() if len(kinds) == 1 else ""

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


def nodes_to_exclude(hosts: Collection[str], partitions: str = "") -> frozenset[str]:
    """Find which hosts are nodes of the partitions ("": of all); return Slurm's names of them.

    No node is excluded where these are more than half of all, or sinfo does not answer: sbatch
    refuses a job that no node may run.
    """
    if not hosts:
        return frozenset()
    where = ["--partition", partitions] if partitions else ["--all"]
    listed = output_of("sinfo", "--noheader", "--Node", "--format=%N|%n", *where)
    pairs = [line.strip().partition("|") for line in listed.splitlines()]
    nodes = {name: {_short(name), _short(host)} for name, _, host in pairs if name}
    short = {_short(host) for host in hosts}
    found = frozenset(name for name, known in nodes.items() if known & short)
    return found if len(found) <= LARGEST_SHARE * len(nodes) else frozenset()


def _short(host: str) -> str:
    return host.partition(".")[0]
