"""The partitions: how long their jobs may be, and what GPUs they have."""

import re
from collections.abc import Iterator

from anynet_study.dispatch.doctor.finding import Finding
from anynet_study.dispatch.slurm.ask import ask

#: Name, availability, time limit, nodes, generic resources.
FORMAT = "%P|%a|%l|%D|%G"
GPU = re.compile(r"gpu:(?:([^:(,]+):)?(\d+)")


def probe_partitions() -> Iterator[Finding]:
    """From one call of sinfo."""
    told = ask("sinfo", "--noheader", f"--format={FORMAT}")
    if not told.works:
        yield Finding("partitions", f"not told: {told.error}", level="note")
        return
    parts: dict[str, list[list[str]]] = {}
    for line in told.lines:
        fields = line.strip().split("|", 4)
        if len(fields) == 5:
            parts.setdefault(fields[0], []).append(fields)
    if not parts:
        yield Finding("partitions", "none that you may use", "ask for access", "problem")
    for name, lines in parts.items():
        yield _partition(name, lines)


def _partition(name: str, lines: list[list[str]]) -> Finding:
    """A partition; its nodes come a line for each kind of resources."""
    plain, is_default = name.rstrip("*"), name.endswith("*")
    check = f"partition {plain}" + (" (default)" if is_default else "")
    limit = "no time limit" if lines[0][2] == "infinite" else f"at most {lines[0][2]}"
    nodes = sum(int(line[3]) for line in lines if line[3].isdigit())
    gpus = list(dict.fromkeys(gpu for line in lines for gpu in _gpus(line[4])))
    found = f"{nodes} node{'s' if nodes != 1 else ''}, {limit}, {', '.join(gpus) or 'no GPUs'}"
    if lines[0][1] != "up":
        return Finding(check, f"{found}; it is {lines[0][1]}", "no job runs there now", "note")
    chosen = [] if is_default else [f"launch.slurm.partition={plain}"]
    chosen += ["launch.slurm.gpus_per_node=1"] if gpus else []
    return Finding(check, found, "to use it: " + " ".join(chosen) if chosen else "")


def _gpus(gres: str) -> Iterator[str]:
    for kind, count in GPU.findall(gres):
        gpus = "GPU" if count == "1" else "GPUs"
        yield f"{count} {gpus} ({kind}) a node" if kind else f"{count} {gpus} a node"
