"""Nodes that jobs had better not get, because runs failed on them."""

from collections.abc import Collection

from anynet_study.dispatch.slurm.ask import told

#: A cluster of which a larger share is to be avoided is rather used whole.
LARGEST_SHARE = 0.5


def worth_avoiding(hosts: Collection[str], partitions: str = "") -> frozenset[str]:
    """Those of some hosts that are nodes of the partitions (all: ""), by Slurm's names for them.

    None at all where they are more than half of the nodes, or sinfo does not answer: sbatch
    refuses a job that no node may run.
    """
    if not hosts:
        return frozenset()
    where = ["--partition", partitions] if partitions else ["--all"]
    listed = told("sinfo", "--noheader", "--Node", "--format=%N|%n", *where)
    pairs = [line.strip().partition("|") for line in listed.splitlines()]
    nodes = {name: {_short(name), _short(host)} for name, _, host in pairs if name}
    short = {_short(host) for host in hosts}
    found = frozenset(name for name, known in nodes.items() if known & short)
    return found if len(found) <= LARGEST_SHARE * len(nodes) else frozenset()


def _short(host: str) -> str:
    return host.partition(".")[0]
