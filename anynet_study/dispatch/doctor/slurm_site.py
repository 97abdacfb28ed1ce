"""Probes of Slurm: its version and settings, its partitions, and what accounting says."""

import getpass
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from anynet_study.dispatch.slurm.commands import ask

#: Fewer seconds than this between SIGTERM and SIGKILL may be too few to save a run.
SHORT_KILL_WAIT = 20
#: Name, availability, time limit, nodes, generic resources.
FORMAT = "%P|%a|%l|%D|%G"
GPU = re.compile(r"gpu:(?:([^:(,]+):)?(\d+)")
ASSOCIATION = ("Account", "Partition", "MaxSubmit", "GrpSubmit", "MaxJobs", "QOS")
QOS = ("Name", "MaxSubmitPU", "MaxJobsPU", "GrpSubmit", "MaxWall")


@dataclass(frozen=True)
class ProbeResult:
    """A line of the doctor's table."""

    check: str
    found: str
    #: What to set or do; "" if nothing.
    advice: str = ""
    #: note: works, but is worth knowing; problem: jobs or files will suffer.
    level: Literal["ok", "note", "problem"] = "ok"


def probe_slurm() -> Iterator[ProbeResult]:
    """From one call of scontrol."""
    told = ask("scontrol", "show", "config")
    if not told.works:
        advice = "launch.cluster = local works without; for Slurm, go to its login node"
        yield ProbeResult("Slurm", f"none here: {told.error or 'scontrol fails'}", advice, "note")
        return
    config = parse_config(told.text)
    yield ProbeResult("Slurm", config.get("SLURM_VERSION", "of an unknown version"))
    yield from (probe(config) for probe in PROBES)


def parse_config(text: str) -> dict[str, str]:
    """The settings that `scontrol show config` lists."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _number(config: Mapping[str, str], name: str) -> int | None:
    found = re.match(r"\d+", config.get(name, ""))
    return int(found[0]) if found else None


def _unknown(check: str) -> ProbeResult:
    return ProbeResult(check, "not told", level="note")


def arrays(config: Mapping[str, str]) -> ProbeResult:
    size = _number(config, "MaxArraySize")
    if size is None:
        return _unknown("MaxArraySize")
    if size == 0:
        return ProbeResult(
            "MaxArraySize", "0: no arrays", "launch submits job by job: slower", "note"
        )
    return ProbeResult(
        "MaxArraySize", str(size), "launch splits arrays there" if size < 1001 else ""
    )


def job_count(config: Mapping[str, str]) -> ProbeResult:
    count = _number(config, "MaxJobCount")
    if count is None:
        return _unknown("MaxJobCount")
    advice = "what finds no room is for a later launch; longer jobs: launch.job_minutes"
    return ProbeResult("MaxJobCount", f"{count} jobs of all users", advice)


def preemption(config: Mapping[str, str]) -> ProbeResult:
    kind, mode = config.get("PreemptType", ""), config.get("PreemptMode", "")
    if kind.endswith("none") or mode in ("", "OFF"):
        return ProbeResult("preemption", "off")
    found = f"{mode} ({kind.rpartition('/')[2]})"
    if "CANCEL" in mode:
        advice = "preempted jobs do not come back: launch again when status says so"
        return ProbeResult("preemption", found, advice, "note")
    if "SUSPEND" in mode:
        return ProbeResult(
            "preemption", found, "suspended jobs keep their memory: mind mem_gb", "note"
        )
    return ProbeResult("preemption", found, "preempted jobs come back and go on from a checkpoint")


def requeue(config: Mapping[str, str]) -> ProbeResult:
    allowed = _number(config, "JobRequeue")
    if allowed is None:
        return _unknown("JobRequeue")
    if allowed:
        return ProbeResult("JobRequeue", "yes: jobs come back after a node fails")
    return ProbeResult("JobRequeue", "not by default", "launch asks for it; otherwise launch again")


def kill_wait(config: Mapping[str, str]) -> ProbeResult:
    seconds = _number(config, "KillWait")
    if seconds is None:
        return _unknown("KillWait")
    if seconds >= SHORT_KILL_WAIT:
        return ProbeResult("KillWait", f"{seconds} s to save on scancel")
    advice = "a short launch.checkpoint_seconds loses less where that is too little"
    return ProbeResult("KillWait", f"{seconds} s to save on scancel", advice, "note")


def memory(config: Mapping[str, str]) -> ProbeResult:
    """Jobs that do not ask for memory get all of a node's where nothing else is set."""
    counted = "MEMORY" in config.get("SelectTypeParameters", "").upper()
    limits = [config.get(name, "UNLIMITED") for name in ("DefMemPerNode", "DefMemPerCPU")]
    if counted and all(limit in ("UNLIMITED", "0") for limit in limits):
        advice = "set launch.slurm.mem_gb, or one job takes a whole node's memory"
        return ProbeResult("memory", "counted, without a default", advice, "problem")
    return ProbeResult("memory", "counted, with a default" if counted else "not counted")


def wckey(config: Mapping[str, str]) -> ProbeResult:
    enforced = "wckey" in config.get("AccountingStorageEnforce", "").lower()
    if enforced:
        return ProbeResult("wckey", "required", "set launch.slurm.wckey to one of yours", "problem")
    tracked = config.get("TrackWCKey", "No").lower() in ("yes", "1")
    return ProbeResult("wckey", "tracked, not required" if tracked else "not used")


PROBES = (arrays, job_count, preemption, requeue, kill_wait, memory, wckey)


def probe_partitions() -> Iterator[ProbeResult]:
    """From one call of sinfo."""
    told = ask("sinfo", "--noheader", f"--format={FORMAT}")
    if not told.works:
        yield ProbeResult("partitions", f"not told: {told.error}", level="note")
        return
    parts: dict[str, list[list[str]]] = {}
    for line in told.lines:
        fields = line.strip().split("|", 4)
        if len(fields) == 5:
            parts.setdefault(fields[0], []).append(fields)
    if not parts:
        yield ProbeResult("partitions", "none that you may use", "ask for access", "problem")
    for name, lines in parts.items():
        yield _partition(name, lines)


def _partition(name: str, lines: list[list[str]]) -> ProbeResult:
    """A partition; its nodes come a line for each kind of resources."""
    plain, is_default = name.rstrip("*"), name.endswith("*")
    check = f"partition {plain}" + (" (default)" if is_default else "")
    limit = "no time limit" if lines[0][2] == "infinite" else f"at most {lines[0][2]}"
    nodes = sum(int(line[3]) for line in lines if line[3].isdigit())
    gpus = list(dict.fromkeys(gpu for line in lines for gpu in _gpus(line[4])))
    found = f"{nodes} node{'s' if nodes != 1 else ''}, {limit}, {', '.join(gpus) or 'no GPUs'}"
    if lines[0][1] != "up":
        return ProbeResult(check, f"{found}; it is {lines[0][1]}", "no job runs there now", "note")
    chosen = [] if is_default else [f"launch.slurm.partition={plain}"]
    chosen += ["launch.slurm.gpus_per_node=1"] if gpus else []
    return ProbeResult(check, found, "to use it: " + " ".join(chosen) if chosen else "")


def _gpus(gres: str) -> Iterator[str]:
    for kind, count in GPU.findall(gres):
        gpus = "GPU" if count == "1" else "GPUs"
        yield f"{count} {gpus} ({kind}) a node" if kind else f"{count} {gpus} a node"


def probe_accounts() -> Iterator[ProbeResult]:
    """From sacct and sacctmgr, where they answer."""
    yield sacct()
    accounts = _table("associations", ASSOCIATION, "user=" + getpass.getuser())
    if accounts is None:
        yield ProbeResult("submit limits", "not told (no accounting)", "launch tries and sees")
        return
    if not accounts:
        advice = "ask for one if sbatch refuses, and set launch.slurm.account"
        yield ProbeResult("account", "none of yours", advice, "note")
    names = sorted({row["Account"] for row in accounts})
    if len(names) > 1:
        yield ProbeResult("account", ", ".join(names), "launch.slurm.account chooses")
    for row in accounts:
        yield _limits(f"account {row['Account']}", row, ("MaxSubmit", "GrpSubmit"), "MaxJobs")
    mine = {name for row in accounts for name in row["QOS"].split(",") if name}
    for row in _table("qos", QOS) or []:
        if row["Name"] in mine:
            submits = ("MaxSubmitPU", "GrpSubmit")
            finding = _limits(f"QOS {row['Name']}", row, submits, "MaxJobsPU")
            wall = f", jobs of at most {row['MaxWall']}" if row["MaxWall"] else ""
            yield ProbeResult(finding.check, finding.found + wall, finding.advice, finding.level)


def sacct() -> ProbeResult:
    told = ask("sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID")
    if told.works:
        return ProbeResult("sacct", "on", "why jobs were killed is told more exactly")
    return ProbeResult("sacct", f"off ({told.error or 'it fails'})", "not needed")


def _limits(check: str, row: dict[str, str], submits: tuple[str, ...], running: str) -> ProbeResult:
    most = min((int(row[name]) for name in submits if row[name].isdigit()), default=None)
    found = "any number of jobs" if most is None else f"at most {most} jobs queued"
    if row[running].isdigit():
        found += f", {row[running]} running"
    advice = (
        "" if most is None else "what is over is for a later launch; longer: launch.job_minutes"
    )
    return ProbeResult(check, found, advice)


def _table(what: str, columns: tuple[str, ...], *where: str) -> list[dict[str, str]] | None:
    """A table of sacctmgr; None where it does not answer."""
    options = ("--noheader", "--parsable2", f"format={','.join(columns)}")
    told = ask("sacctmgr", "--readonly", "show", what, *where, *options)
    if not told.works:
        return None
    rows = (line.split("|") for line in told.lines)
    return [dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns)]
