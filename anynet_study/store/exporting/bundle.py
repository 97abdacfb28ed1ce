"""Writing a release bundle: built aside, then put in place as a whole."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anynet_study.errors import UserError
from anynet_study.files import naming
from anynet_study.store.exporting.checking import SUMS, is_bundle
from anynet_study.store.exporting.tables import population_of, write_tables
from anynet_study.store.exporting.wording import readme, schema_json
from anynet_study.store.results import ResultStore


@dataclass(frozen=True)
class ExportReport:
    """What a bundle holds."""

    folder: Path
    #: Name -> bytes.
    files: dict[str, int]


def export(store: ResultStore, folder: Path) -> ExportReport:
    """Write the bundle of a store as `folder`, which is new or replaces an older bundle.

    Raises UserError where the folder holds anything else; OSError where it cannot be written, and
    then nothing is changed.
    """
    if folder.exists() and not is_bundle(folder):
        raise UserError(f"{folder}: is there, and is no export; give another -o")
    if not folder.resolve().name:
        raise UserError(f"{folder}: not a folder that can be made")
    with _publishing(folder) as temporary:
        # All else is made from the copy: a collect may replace the store meanwhile.
        shutil.copyfile(store.path, temporary / "results.h5")
        with ResultStore(temporary / "results.h5") as copy:
            tables = write_tables(copy, temporary)
            provenance, population = copy.provenance, population_of(copy)
        if population is not None:
            population.write(temporary / "population.parquet")
        if sweep := provenance.get("sweep"):
            _write(temporary / "sweep.yaml", sweep)
        _write(temporary / "schema.json", schema_json(tables))
        files = sorted(path.name for path in temporary.iterdir())
        _write(temporary / "README.md", readme(folder.resolve().name, tables, files, provenance))
        sizes = {path.name: path.stat().st_size for path in sorted(temporary.iterdir())}
        sums = [f"{_sha256(temporary / name)}  {name}\n" for name in sizes]
        _write(temporary / SUMS, "".join(sums))
    return ExportReport(folder, sizes)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _publishing(folder: Path) -> Iterator[Path]:
    """Yield a new folder; on success it becomes `folder`, on failure it is removed."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark = f"{os.getpid()}-{secrets.token_hex(4)}.tmp"
    temporary = folder.with_name(f".{folder.name}.{mark}")
    old = folder.with_name(f".{folder.name}.old-{mark}")
    try:
        with naming(folder, temporary):
            temporary.mkdir()
            yield temporary
            for path in temporary.iterdir():
                with path.open("rb+") as file:
                    os.fsync(file.fileno())
            # A folder cannot be renamed over one that holds files.
            if folder.exists():
                folder.rename(old)
            try:
                temporary.rename(folder)
            except OSError:
                if old.exists():
                    old.rename(folder)
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
