"""The classes of ImageNet's development kit, from its `meta.mat`.

scipy's parser crashes on deep nests, and takes all the memory and time that a small file claims.
So it runs in a process of its own, with limits: this file, as a script.
"""

import io
import json
import os
import resource
import subprocess
import sys

#: Memory (bytes) and processor time (seconds) of the parser. The kit's table takes 0.1 s.
MEMORY, SECONDS = 1 << 30, 10


def leaf_wnids(table: bytes) -> dict[str, str]:
    """The wnid of each ILSVRC2012_ID, as text, of the classes without subclasses.

    ValueError if `table` is not the kit's.
    """
    parsed = subprocess.run(
        [sys.executable, "-P", __file__],
        input=table,
        capture_output=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread takes memory
    )
    if parsed.returncode < 0:
        raise ValueError(f"to read it takes a crash, or over {SECONDS} s")
    if parsed.returncode:
        raise ValueError(parsed.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    wnids: dict[str, str] = json.loads(parsed.stdout)
    return wnids


def _parse() -> None:
    """Print as JSON what `leaf_wnids` returns of the table on standard input."""
    from scipy.io import loadmat

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    synsets = loadmat(io.BytesIO(sys.stdin.buffer.read()), squeeze_me=True)["synsets"]
    columns = (synsets[key].ravel() for key in ("ILSVRC2012_ID", "WNID", "num_children"))
    rows = zip(*columns, strict=True)
    print(json.dumps({int(number): str(wnid) for number, wnid, children in rows if not children}))


if __name__ == "__main__":
    _parse()
