"""A checksum of what HDF5 itself does not check when it is read.

Arrays have Fletcher-32 checksums. Attributes, texts of varying length and arrays that are not in
chunks have none.
"""

import zlib

import h5py
import numpy as np

SEAL = "seal"


def seal(file: h5py.File) -> None:
    """Write the checksum as an attribute of the root."""
    file.attrs[SEAL] = np.uint32(unchecked_crc32(file))


def is_sealed(file: h5py.File) -> bool | None:
    """Whether the checksum is right; None in files that have none."""
    return None if SEAL not in file.attrs else int(file.attrs[SEAL]) == unchecked_crc32(file)


def unchecked_crc32(file: h5py.File) -> int:
    """CRC-32 of all attributes but the seal, and of every dataset without a checksum."""
    crc = 0
    paths: list[str] = ["/"]
    file.visit(paths.append)
    for path in sorted(paths):
        each = file[path]
        for name in sorted(each.attrs):
            if name != SEAL:
                crc = _add(crc, f"{path}@{name}", each.attrs[name])
        if isinstance(each, h5py.Dataset) and not each.fletcher32:
            crc = _add(crc, path, each[()])
    return crc


def _add(crc: int, name: str, value: object) -> int:
    array = np.asarray(value)
    if array.dtype.kind == "O":
        texts = [each if isinstance(each, bytes) else str(each).encode() for each in array.flat]
        data = b"".join(b"%d:%s" % (len(text), text) for text in texts)
    else:
        data = array.tobytes()
    return zlib.crc32(b"%s %d:%s" % (name.encode(), len(data), data), crc)
