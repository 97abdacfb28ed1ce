"""The package's source as it was at launch: what workers import, whatever is edited later."""

import hashlib
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from anynet_study.core import provenance
from anynet_study.core.errors import UserError
from anynet_study.core.files import naming, replacing_folder


@dataclass(frozen=True)
class Snapshot:
    """A copy of the package, in a folder named by its content."""

    #: What is put before all else on Python's path; it holds the folder `anynet_study`.
    folder: Path

    @property
    def setup(self) -> list[str]:
        """Lines of a shell script after which Python imports the package from here.

        Neither from what was on its path before, nor from the current folder.
        """
        folder = shlex.quote(str(self.folder.absolute()))
        return [
            f'export PYTHONPATH={folder}"${{PYTHONPATH:+:$PYTHONPATH}}"',
            "export PYTHONSAFEPATH=1",
        ]

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables with which a process that this one starts imports from here."""
        path = [str(self.folder.absolute()), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(path), "PYTHONSAFEPATH": "1"}


def snapshot(folder: Path, package: Path = provenance.PACKAGE) -> Snapshot:
    """Return where in `folder` the snapshot of the package as it is now is, or will be."""
    digest = hashlib.sha256(provenance.code_version().encode())
    for path in _sources(package):
        content = path.read_bytes()
        digest.update(f"\0{path.relative_to(package)}\0{len(content)}\0".encode())
        digest.update(content)
    return Snapshot(folder / digest.hexdigest()[:16])


def take(folder: Path, package: Path = provenance.PACKAGE) -> Snapshot:
    """Copy the package as it is now, unless that was done before; complete once it is there.

    Of several snapshots, the one taken last has changed last (`StudyFolder.remove_litter`).
    """
    made = snapshot(folder, package)
    if made.folder.exists():
        copy = made.folder / package.name
        told = (copy / provenance.VERSION_FILE).read_text(encoding="utf-8", errors="replace")
        if told == provenance.code_version() and snapshot(folder, copy) == made:
            os.utime(made.folder)
            return made
        print(f"{made.folder}: the snapshot has changed; it is made again", file=sys.stderr)
    with replacing_folder(made.folder) as temporary:
        temporary.chmod(0o700)  # what is executed is nobody else's to change
        copy = temporary / package.name
        for path in _sources(package):
            target = copy / path.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            with naming(target):
                target.write_bytes(path.read_bytes())
        (copy / provenance.VERSION_FILE).write_text(provenance.code_version(), encoding="utf-8")
    return made


def check(folder: Path, package: Path = provenance.PACKAGE) -> None:
    """UserError if `package` is imported from a snapshot in `folder` that has changed."""
    held = package.parent
    of_study = held.parent.resolve() == folder.resolve()
    if of_study and snapshot(folder, package).folder.name != held.name:
        raise UserError(f"{held}: the snapshot of the code has changed; launch the study again")


def _sources(package: Path) -> list[Path]:
    """The files that make the package, in an order of their own; not which version it is."""
    files = (path for path in package.rglob("*") if path.is_file())
    files = (path for path in files if path != package / provenance.VERSION_FILE)
    # What Python compiles is written, under names that vanish, while others import the package.
    files = (path for path in files if "__pycache__" not in path.relative_to(package).parts)
    return sorted(path for path in files if path.suffix not in (".pyc", ".tmp"))
