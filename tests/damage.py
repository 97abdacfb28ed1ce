"""Files of a store as they are after a disk or somebody changed a few of their bytes."""

from pathlib import Path

import h5py


def damage(whole: Path, place: str, changed: Path) -> Path:
    """A copy in which 16 bytes in the middle of what an array stores are others."""
    changed.write_bytes(whole.read_bytes())
    with h5py.File(changed) as file:
        array = file[place]
        if array.chunks:
            chunk = array.id.get_chunk_info(0)
            start, size = chunk.byte_offset, chunk.size
        else:
            start, size = array.id.get_offset(), array.nbytes
    with changed.open("r+b") as content:
        content.seek(start + size // 2)
        content.write(b"\xff\x5a" * min(8, max(1, size // 4)))
    return changed
