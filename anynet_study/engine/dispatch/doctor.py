"""The doctor: what this site's Slurm, this machine and a folder's file system allow."""

import getpass
import mmap
import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import psutil
from filelock import FileLock

from anynet_study.core.errors import first_line
from anynet_study.core.files import write_text
from anynet_study.engine.dispatch.slurm.commands import ask
from anynet_study.engine.planning import gpu_here, gpus_here

GPU = re.compile(r"gpu:(?:([^:(,]+):)?(\d+)")
ASSOCIATION = ("Account", "MaxSubmit", "GrpSubmit", "MaxJobs", "QOS")
QOS = ("Name", "MaxSubmitPU", "MaxJobsPU", "GrpSubmit", "MaxWall")
#: File systems that only this machine sees.
LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "vfat", "f2fs"}
)
#: Fewer seconds than this between SIGTERM and SIGKILL may be too few to save a run.
SHORT_KILL_WAIT = 20
#: Less room than this is soon used up: bytes, and files.
LITTLE_ROOM, FEW_FILES = 2 << 30, 20_000
#: A longer fsync slows down journals of short runs, in seconds.
SLOW_SYNC = 0.1
#: Clocks further apart, in seconds, put runs and jobs in the wrong order.
CLOCKS_APART = 5.0
#: Commands that tell of quotas, of some file systems alone.
QUOTA_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "lustre": ("lfs", "quota", "-h"),
    "gpfs": ("mmlsquota", "--block-size", "auto"),
    "": ("quota", "--human-readable", "--show-mntpoint", "--no-wrap"),
}


Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class ProbeResult:
    """A line of the doctor's table."""

    check: str
    found: str
    #: What to set or do; "" if nothing.
    advice: str = ""
    #: note: works, but is worth knowing; problem: jobs or files will suffer.
    level: Level = "ok"


def examine(folder: Path) -> list[ProbeResult]:
    """Probe Slurm, this machine, and the file system of `folder`.

    Never raises: a probe that fails is a result. Files that are written there are removed.
    """
    results = _safely("Slurm", probe_slurm)
    if not any(result.check == "Slurm" and result.level != "ok" for result in results):
        results += _safely("partitions", probe_partitions) + _safely("accounts", probe_accounts)
    results += _safely("this machine", probe_machine)
    results += _safely("folder", lambda: [probe_place(folder)])
    if folder.is_dir():
        for check, probe in FILE_PROBES.items():
            results += _safely(check, lambda probe=probe: [probe(folder)])  # type: ignore[misc]
    return results


def _safely(check: str, probe: Callable[[], Iterable[ProbeResult]]) -> list[ProbeResult]:
    try:
        return list(probe())
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        return [ProbeResult(check, f"could not be told: {words}", level="note")]


def probe_slurm() -> Iterator[ProbeResult]:
    """From one call of scontrol."""
    told = ask("scontrol", "show", "config")
    if not told.is_there:
        advice = "launch.cluster = local works without; for Slurm, go to its login node"
        yield ProbeResult("Slurm", "none here", advice, "note")
        return
    if not told.works:
        advice = "if this is its login node, try again later, or ask the site"
        found = f"does not answer: {told.error or 'scontrol fails'}"
        yield ProbeResult("Slurm", found, advice, "note")
        return
    pairs = (line.partition("=") for line in told.lines if "=" in line)
    config = {name.strip(): value.strip() for name, _, value in pairs}
    yield ProbeResult("Slurm", config.get("SLURM_VERSION", "of an unknown version"))
    for check in ("MaxArraySize", "MaxJobCount", "JobRequeue", "KillWait"):
        number = re.match(r"\d+", config.get(check, ""))
        if number:
            yield ProbeResult(check, *_number(check, int(number[0])))
        else:
            yield ProbeResult(check, "not told", level="note")
    yield _preemption(config.get("PreemptType", ""), config.get("PreemptMode", ""))
    yield _memory(config)
    if "wckey" in config.get("AccountingStorageEnforce", "").lower():
        advice = "set launch.slurm.wckey to one of yours"
        yield ProbeResult("wckey", "required", advice, "problem")
    else:
        tracked = config.get("TrackWCKey", "No").lower() in ("yes", "1")
        yield ProbeResult("wckey", "tracked, not required" if tracked else "not used")


def _number(check: str, number: int) -> tuple[str, str, Level]:
    """Return what a number among Slurm's settings means: what is found, advice, level."""
    if check == "MaxArraySize" and not number:
        return "0: no arrays", "launch submits job by job: slower", "note"
    if check == "MaxArraySize":
        return str(number), "launch splits arrays there" if number < 1001 else "", "ok"
    if check == "MaxJobCount":
        advice = "if the queue is full, launch again later, or set a longer launch.job_minutes"
        return f"{number:,} jobs of all users", advice, "ok"
    if check == "JobRequeue" and not number:
        return "not by default", "launch asks for it; otherwise launch again", "ok"
    if check == "JobRequeue":
        return "yes: jobs come back after a node fails", "", "ok"
    if number < SHORT_KILL_WAIT:
        advice = "if that is too little, a short launch.checkpoint_seconds loses less"
        return f"{number} s to save on scancel", advice, "note"
    return f"{number} s to save on scancel", "", "ok"


def _preemption(kind: str, mode: str) -> ProbeResult:
    if kind.endswith("none") or mode in ("", "OFF"):
        return ProbeResult("preemption", "off")
    found = f"{mode} ({kind.rpartition('/')[2]})"
    advice = {
        "CANCEL": "preempted jobs do not come back: launch again when status says so",
        "SUSPEND": "suspended jobs keep their memory: mind mem_gb",
    }
    for words, what_to_do in advice.items():
        if words in mode:
            return ProbeResult("preemption", found, what_to_do, "note")
    return ProbeResult("preemption", found, "preempted jobs come back and go on from a checkpoint")


def _memory(config: Mapping[str, str]) -> ProbeResult:
    """Jobs that do not ask for memory get all of a node's where nothing else is set."""
    if "MEMORY" not in config.get("SelectTypeParameters", "").upper():
        return ProbeResult("memory", "not counted")
    limits = {config.get(name, "UNLIMITED") for name in ("DefMemPerNode", "DefMemPerCPU")}
    if limits - {"UNLIMITED", "0"}:
        return ProbeResult("memory", "counted, with a default")
    advice = "set launch.slurm.mem_gb, or one job takes a whole node's memory"
    return ProbeResult("memory", "counted, without a default", advice, "problem")


def probe_partitions() -> Iterator[ProbeResult]:
    """From one call of sinfo: name, availability, time limit, nodes, generic resources."""
    told = ask("sinfo", "--noheader", "--format=%P|%a|%l|%D|%G")
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
    gpus = dict.fromkeys(
        f"{count} GPU{'s' if count != '1' else ''}{f' ({kind})' if kind else ''} a node"
        for line in lines
        for kind, count in GPU.findall(line[4])
    )
    found = f"{nodes} node{'s' if nodes != 1 else ''}, {limit}, {', '.join(gpus) or 'no GPUs'}"
    if lines[0][1] != "up":
        return ProbeResult(check, f"{found}; it is {lines[0][1]}", "no job runs there now", "note")
    chosen = [] if is_default else [f"launch.slurm.partition={plain}"]
    chosen += ["launch.slurm.gpus_per_node=1"] if gpus else []
    return ProbeResult(check, found, "to use it: " + " ".join(chosen) if chosen else "")


def probe_accounts() -> Iterator[ProbeResult]:
    """From sacct and sacctmgr, where they answer."""
    told = ask("sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID")
    if told.works:
        yield ProbeResult("sacct", "on", "why jobs were killed is told more exactly")
    else:
        yield ProbeResult("sacct", f"off ({told.error or 'it fails'})", "not needed")
    accounts = _table("associations", ASSOCIATION, "user=" + getpass.getuser())
    if accounts is None:
        yield ProbeResult("submit limits", "not told (no accounting)", "launch tries and sees")
        return
    if not accounts:
        advice = "ask for one if sbatch refuses, and set launch.slurm.account"
        yield ProbeResult("account", "you have none", advice, "note")
    names = sorted({row["Account"] for row in accounts})
    if len(names) > 1:
        yield ProbeResult("account", ", ".join(names), "launch.slurm.account chooses")
    for row in accounts:
        submits = row["MaxSubmit"], row["GrpSubmit"]
        yield _limits(f"account {row['Account']}", submits, row["MaxJobs"])
    mine = {name for row in accounts for name in row["QOS"].split(",") if name}
    for row in _table("qos", QOS) or []:
        if row["Name"] in mine:
            submits = row["MaxSubmitPU"], row["GrpSubmit"]
            yield _limits(f"QOS {row['Name']}", submits, row["MaxJobsPU"], row["MaxWall"])


def _limits(check: str, submits: Iterable[str], running: str, wall: str = "") -> ProbeResult:
    most = min((int(number) for number in submits if number.isdigit()), default=None)
    found = "any number of jobs" if most is None else f"at most {most} jobs queued"
    found += f", {running} running" if running.isdigit() else ""
    found += f", jobs of at most {wall}" if wall else ""
    advice = "more are submitted by a later launch; or make jobs longer: launch.job_minutes"
    return ProbeResult(check, found, "" if most is None else advice)


def _table(what: str, columns: tuple[str, ...], *where: str) -> list[dict[str, str]] | None:
    """A table of sacctmgr; None where it does not answer."""
    options = ("--noheader", "--parsable2", f"format={','.join(columns)}")
    told = ask("sacctmgr", "--readonly", "show", what, *where, *options)
    if not told.works:
        return None
    rows = (line.split("|") for line in told.lines)
    return [dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns)]


def probe_machine() -> Iterator[ProbeResult]:
    """Cores, memory and GPUs that this process may use."""
    cores = len(os.sched_getaffinity(0))
    size = psutil.virtual_memory().total / 2**30
    yield ProbeResult("this machine", f"{cores} cores, {size:.0f} GiB of memory")
    if count := len(gpus_here()):
        yield ProbeResult("GPUs here", f"{count}: {gpu_here() or 'of an unknown kind'}")
    else:
        yield ProbeResult("GPUs here", "none", "jobs may still get some: see partitions")


def mount_of(folder: Path) -> tuple[str, Path]:
    """Kind and mount point of the file system of a folder; the last one mounted there counts."""
    place, found = folder.resolve(), ("unknown", Path("/"))
    for disk in psutil.disk_partitions(all=True):
        point = Path(disk.mountpoint)
        if place.is_relative_to(point) and point.is_relative_to(found[1]):
            found = disk.fstype, point
    return found


def probe_place(folder: Path) -> ProbeResult:
    """Return where the folder is, and whether other machines can see it."""
    if not folder.is_dir():
        advice = "make it, or name another"
        return ProbeResult("folder", f"{folder} is not there", advice, "problem")
    kind, point = mount_of(folder)
    if kind in LOCAL and shutil.which("sbatch"):
        advice = "nodes must see this folder: use one on a shared file system"
        return ProbeResult("file system", f"{kind} at {point}", advice, "note")
    return ProbeResult("file system", f"{kind} at {point}")


def _scratch(folder: Path) -> "TemporaryDirectory[str]":
    return TemporaryDirectory(dir=folder, prefix=".anynet-study-doctor-")


def files(folder: Path) -> ProbeResult:
    """Files are published by renaming, begun where none is there, and memory-mapped."""
    with _scratch(folder) as scratch:
        target = Path(scratch, "target")
        target.write_text("old")
        with target.open("rb") as before:
            write_text(target, "new")
            kept, now = before.read(), target.read_bytes()
        with target.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as it:
            mapped = it[:]
        try:
            target.open("x").close()
            exclusive = False
        except FileExistsError:
            exclusive = True
    if (kept, now, mapped, exclusive) == (b"old", b"new", b"new", True):
        return ProbeResult("files", "renames, exclusive creation and memory maps work")
    found = f"readers see {kept!r}, then {now!r}, mapped {mapped!r}"
    found += "" if exclusive else "; creation is not exclusive"
    return ProbeResult("files", found, "results may be damaged: use another file system", "problem")


def sync(folder: Path) -> ProbeResult:
    """Each finished run is on disk before the next begins."""
    seconds = []
    with _scratch(folder) as scratch, Path(scratch, "journal").open("wb") as file:
        for _ in range(5):
            began = time.perf_counter()
            os.write(file.fileno(), b"a record")
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - began)
    typical = statistics.median(seconds)
    found = f"works, in {1000 * typical:.1f} ms"
    if typical > SLOW_SYNC:
        return ProbeResult("fsync", found, "runs of less than some seconds are slowed down", "note")
    return ProbeResult("fsync", found)


def locks(folder: Path) -> ProbeResult:
    """Only a courtesy, so that two launches at once are noticed."""
    with _scratch(folder) as scratch:
        try:
            with FileLock(Path(scratch, "lock"), timeout=0):
                return ProbeResult("locks", "work (only a courtesy)")
        except (OSError, NotImplementedError) as error:
            advice = "results do not need locks; never type two launches of a study at once"
            return ProbeResult("locks", f"none: {first_line(error)}", advice, "note")


def room(folder: Path) -> ProbeResult:
    """Bytes: a full disk stops all workers."""
    free = shutil.disk_usage(folder).free
    advice = "make room: a full disk stops all workers" if free < LITTLE_ROOM else ""
    level: Level = "problem" if advice else "ok"
    return ProbeResult("space", f"{free / 2**30:.1f} GiB free", advice, level)


def inodes(folder: Path) -> ProbeResult:
    """Files of a study grow with its workers, not with its runs."""
    told = os.statvfs(folder)
    if not told.f_files:
        return ProbeResult("inodes", "not counted")
    level: Level = "problem" if told.f_favail < FEW_FILES else "ok"
    advice = "remove files" if level == "problem" else ""
    return ProbeResult("inodes", f"{told.f_favail:,} left", advice, level)


def quota(folder: Path) -> ProbeResult:
    """By whichever command there is for it."""
    kind, point = mount_of(folder)
    command = QUOTA_COMMANDS.get(kind, QUOTA_COMMANDS[""])
    told = ask(*command, *([str(point)] if kind == "lustre" else []))
    lines = [line for line in told.lines if str(point) in line] or told.lines
    if not told.is_there:
        return ProbeResult("quota", f"not known: there is no command {command[0]} here")
    if not told.works:
        return ProbeResult("quota", f"could not be asked: {told.error or command[0] + ' fails'}")
    if not lines:
        return ProbeResult("quota", "you have none here")
    found = " ".join(lines[-1].split())
    if any("*" in line for line in lines):
        return ProbeResult("quota", found, "over the limit (*): make room", "problem")
    return ProbeResult("quota", found)


def clock(folder: Path) -> ProbeResult:
    """The file system's clock against ours."""
    with _scratch(folder) as scratch:
        began = time.time()
        there = Path(scratch).stat().st_mtime
        apart = max(0.0, began - there - 1.0, there - time.time() - 1.0)  # of seconds, some
    if apart > CLOCKS_APART:
        found = f"the file system's differs by {apart:.0f} s"
        return ProbeResult("clock", found, "have clocks set: times and ETAs are wrong", "problem")
    return ProbeResult("clock", "agrees with the file system's")


FILE_PROBES: Mapping[str, Callable[[Path], ProbeResult]] = {
    "files": files,
    "fsync": sync,
    "locks": locks,
    "space": room,
    "inodes": inodes,
    "quota": quota,
    "clock": clock,
}
