"""Reading a release bundle: its files are what its checksums say, or it is refused."""

import hashlib
import json
import re
import shutil
from pathlib import Path

from anynet_study.errors import UserError
from anynet_study.files import replacing
from anynet_study.store.compare import stores_equal
from anynet_study.store.exporting.wording import FORMAT, VERSION
from anynet_study.store.results import ResultStore

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\\0]+)")


def is_bundle(folder: Path) -> bool:
    """Whether a folder is one that `export` made."""
    try:
        described = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(described, dict) and described.get("format") == FORMAT


def checked_bundle(folder: Path) -> Path:
    """The results store of a bundle, all of whose files are as they were written.

    Raises UserError for a folder that is no bundle, a newer one, and missing or altered files.
    """
    if not is_bundle(folder):
        raise UserError(f"{folder}: a folder, but not one that `anynet-study export` made")
    sums = _sums(folder)
    for name in ("results.h5", "schema.json"):
        if name not in sums:
            raise UserError(f"{folder}: {SUMS} has no {name}")
    for name, digest in sums.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{folder}: {name} is missing")
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise UserError(f"{folder}: {name} was altered: it does not fit {SUMS}")
    version = json.loads((folder / "schema.json").read_text(encoding="utf-8")).get("version")
    if version != VERSION:
        raise UserError(
            f"{folder}: a release of version {version}, this anynet-study reads version {VERSION}"
        )
    return folder / "results.h5"


def import_bundle(folder: Path, out: Path) -> ResultStore:
    """Make the results store of a bundle the file `out`, with its provenance, byte for byte.

    Raises UserError as `checked_bundle`, and where `out` is a store of other results.
    """
    source = checked_bundle(folder)
    if out.exists() and stores_equal(ResultStore(out), ResultStore(source)):
        raise UserError(f"{out}: holds other results; give another -o")
    with replacing(out) as temporary:
        shutil.copyfile(source, temporary)
        ResultStore(temporary)
    return ResultStore(out)


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        raise UserError(f"{folder}: has no readable {SUMS}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise UserError(f"{folder / SUMS}: line {number} is not a checksum and a file name")
        found[match[2]] = match[1]
    return found
