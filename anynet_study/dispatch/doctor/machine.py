"""Probes of this machine, and of the file system of a folder: what studies rely on is tried."""

import fcntl
import mmap
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from filelock import FileLock

from anynet_study.dispatch.cost.devices import gpu_here, gpus_here
from anynet_study.dispatch.doctor.slurm_site import ProbeResult
from anynet_study.dispatch.slurm.commands import ask
from anynet_study.files import write_text
from anynet_study.models import compiled_kernels

#: File systems that only this machine sees.
LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "vfat", "f2fs"}
)
MOUNTS = Path("/proc/self/mounts")
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


def probe_machine() -> Iterator[ProbeResult]:
    """Cores, memory and GPUs that this process may use, and what was compiled for the first."""
    cores = len(psutil.Process().cpu_affinity())
    memory = psutil.virtual_memory().total / 2**30
    yield ProbeResult("this machine", f"{cores} cores, {memory:.0f} GiB of memory")
    if count := len(gpus_here()):
        yield ProbeResult("GPUs here", f"{count}: {gpu_here() or 'of an unknown kind'}")
    else:
        yield ProbeResult("GPUs here", "none", "jobs may have them all the same: see partitions")
    yield _kernels()


def _kernels() -> ProbeResult:
    """What was compiled for CPUs."""
    found = compiled_kernels()
    if found is None:
        advice = "CPUs train faster with them: install where there is gcc, on x86-64 with AVX2"
        return ProbeResult("compiled kernels", "none", advice)
    return ProbeResult("compiled kernels", f"for {found}")


def mount_of(folder: Path, mounts: Path = MOUNTS) -> tuple[str, Path]:
    """Kind and mount point of the file system of a folder; the last one mounted there counts."""
    place, found = folder.resolve(), ("unknown", Path("/"))
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split()
        point = Path(fields[1].replace("\\040", " "))
        longer = len(point.parts) >= len(found[1].parts)
        if longer and (point == place or point in place.parents):
            found = fields[2], point
    return found


def probe_place(folder: Path) -> Iterator[ProbeResult]:
    """Where the folder is, and whether other machines can see it."""
    if not folder.is_dir():
        yield ProbeResult("folder", f"{folder} is not there", "make it, or name another", "problem")
        return
    kind, point = mount_of(folder)
    found = f"{kind} at {point}"
    if kind in LOCAL and shutil.which("sbatch"):
        advice = "nodes must see this folder: use one on a shared file system"
        yield ProbeResult("file system", found, advice, "note")
    else:
        yield ProbeResult("file system", found)


def _scratch(folder: Path) -> "TemporaryDirectory[str]":
    return TemporaryDirectory(dir=folder, prefix=".anynet-study-doctor-")


def rename(folder: Path) -> ProbeResult:
    """Files are published by renaming them over others."""
    with _scratch(folder) as scratch:
        target = Path(scratch, "target")
        target.write_text("old")
        with target.open() as before:
            write_text(target, "new")
            kept, now = before.read(), target.read_text()
    if (kept, now) == ("old", "new"):
        return ProbeResult("atomic rename", "works")
    advice = "results may be read half-written: use another file system"
    return ProbeResult("atomic rename", f"readers see {kept!r}, then {now!r}", advice, "problem")


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


def exclusive(folder: Path) -> ProbeResult:
    """A journal is one worker's alone: its file must not be there when it begins."""
    with _scratch(folder) as scratch:
        Path(scratch, "journal").touch()
        try:
            Path(scratch, "journal").open("x").close()
        except FileExistsError:
            return ProbeResult("exclusive creation", "works")
    advice = "use another file system"
    return ProbeResult("exclusive creation", "is not exclusive", advice, "problem")


def locks(folder: Path) -> ProbeResult:
    """Only a courtesy, so that two launches at once are noticed."""
    with _scratch(folder) as scratch:
        try:
            with Path(scratch, "lock").open("w") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with FileLock(Path(scratch, "filelock"), timeout=0):
                return ProbeResult("locks", "work (only a courtesy)")
        except (OSError, NotImplementedError) as error:
            advice = "results do not need locks; never type two launches of a study at once"
            return ProbeResult("locks", f"none: {error}", advice, "note")


def mapping(folder: Path) -> ProbeResult:
    """Datasets are memory-mapped."""
    with _scratch(folder) as scratch:
        path = Path(scratch, "pixels")
        path.write_bytes(b"x" * mmap.PAGESIZE)
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        ):
            if mapped[:1] == b"x":
                return ProbeResult("memory maps", "work")
    return ProbeResult("memory maps", "show other bytes", "put ANYNET_DATA elsewhere", "problem")


def space(folder: Path) -> ProbeResult:
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free"
    if free < LITTLE_ROOM:
        return ProbeResult("space", found, "make room: a full disk stops all workers", "problem")
    return ProbeResult("space", found)


def inodes(folder: Path) -> ProbeResult:
    """Files of a study grow with its workers, not with its runs."""
    told = os.statvfs(folder)
    if not told.f_files:
        return ProbeResult("inodes", "not counted")
    if told.f_favail < FEW_FILES:
        return ProbeResult("inodes", f"{told.f_favail} left", "remove files", "problem")
    return ProbeResult("inodes", f"{told.f_favail} left")


def quota(folder: Path) -> ProbeResult:
    """By whichever command there is for it."""
    kind, point = mount_of(folder)
    command = QUOTA_COMMANDS.get(kind, QUOTA_COMMANDS[""])
    told = ask(*command, str(point)) if kind == "lustre" else ask(*command)
    lines = [line for line in told.lines if str(point) in line] or told.lines
    if not told.works or not lines:
        return ProbeResult("quota", f"not told ({told.error or 'none of yours'})")
    found = " ".join(lines[-1].split())
    if any("*" in line for line in lines):
        return ProbeResult("quota", found, "over the limit (*): make room", "problem")
    return ProbeResult("quota", found)


def clock(folder: Path) -> ProbeResult:
    """The file system's clock against ours."""
    with _scratch(folder) as scratch:
        began = time.time()
        path = Path(scratch, "now")
        path.write_text("now")
        there = path.stat().st_mtime
        apart = max(0.0, began - there - 1.0, there - time.time() - 1.0)  # of seconds, some
    if apart > CLOCKS_APART:
        found = f"the file system's differs by {apart:.0f} s"
        return ProbeResult("clock", found, "have clocks set: times and ETAs are wrong", "problem")
    return ProbeResult("clock", "agrees with the file system's")


FILE_PROBES: Mapping[str, Callable[[Path], ProbeResult]] = {
    "atomic rename": rename,
    "fsync": sync,
    "exclusive creation": exclusive,
    "locks": locks,
    "memory maps": mapping,
    "space": space,
    "inodes": inodes,
    "quota": quota,
    "clock": clock,
}
