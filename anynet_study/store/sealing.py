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
        item = h5py.h5o.open(file.id, path.encode())  # as objects, most would be opened for nothing
        for name in sorted(file[path].attrs) if h5py.h5a.get_num_attrs(item) else ():
            if name != SEAL:
                crc = _add(crc, f"{path}@{name}", file[path].attrs[name])
        if isinstance(item, h5py.h5d.DatasetID) and not _has_checksum(item):
            crc = _add(crc, path, file[path][()])
    return crc


def _has_checksum(dataset: h5py.h5d.DatasetID) -> bool:
    filters = dataset.get_create_plist().get_filter_by_id(h5py.h5z.FILTER_FLETCHER32)
    return filters is not None


def _add(crc: int, name: str, value: object) -> int:
    array = np.asarray(value)
    if array.dtype.kind == "O":
        texts = [each if isinstance(each, bytes) else str(each).encode() for each in array.flat]
        data = b"".join(b"%d:%s" % (len(text), text) for text in texts)
    else:
        data = array.tobytes()
    return zlib.crc32(b"%s %d:%s" % (name.encode(), len(data), data), crc)
