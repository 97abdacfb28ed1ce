"""`meta.mat` of ImageNet's development kit: which number is which class."""

import io
import struct
import zlib

from anynet_study.data.source import Source
from anynet_study.errors import UserError

#: The official file has 200 kB.
MAX_BYTES = 4 << 20
MAX_INFLATED = 32 << 20
HEADER_BYTES = 128
COMPRESSED = 15


def leaf_wnids(source: Source, name: str) -> dict[str, str]:
    """The wnid of each ILSVRC2012_ID, as text, of the classes without subclasses.

    UserError if the file `name` is not what the kit has.
    """
    from scipy.io import loadmat

    where = source.where(name)
    try:
        content = _inflated(source.member(name).read(MAX_BYTES))
        synsets = loadmat(io.BytesIO(content), squeeze_me=True)["synsets"]
        rows = zip(
            *(synsets[key].ravel() for key in ("ILSVRC2012_ID", "WNID", "num_children")),
            strict=True,
        )
        return {str(int(number)): str(wnid) for number, wnid, children in rows if not children}
    except Exception as error:  # the parser raises nearly anything on hostile bytes
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise UserError(f"{where}: not the kit's table of classes ({reason})") from error


def _inflated(content: bytes) -> bytes:
    """A MATLAB 5 file without compression, so that what is claimed is what there is.

    ValueError for more than `MAX_INFLATED` bytes, and for elements that leave the file.
    """
    if content[126:128] != b"IM":
        raise ValueError("not a little-endian MATLAB 5 file")
    parts, position, left = [content[:HEADER_BYTES]], HEADER_BYTES, MAX_INFLATED
    while position < len(content):
        kind, size = struct.unpack_from("<II", content, position)
        body = content[position + 8 : position + 8 + size]
        if len(body) < size:
            raise ValueError("truncated")
        if kind == COMPRESSED:
            body = zlib.decompressobj().decompress(body, left + 1)
        else:
            body = content[position : position + 8 + size]
        left -= len(body)
        if left < 0:
            raise ValueError(f"more than {MAX_INFLATED} bytes")
        parts.append(body)
        position += 8 + size
    return b"".join(parts)
