"""Which file system a folder is on."""

from pathlib import Path

#: File systems that only this machine sees.
LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "vfat", "f2fs"}
)

MOUNTS = Path("/proc/self/mounts")


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
