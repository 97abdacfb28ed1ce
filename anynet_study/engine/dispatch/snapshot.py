"""The source as it was at launch, the package's and a user's own: what workers import.

Whatever is edited later. A user's own are the modules of functions that make networks, and those
that these import, if nobody installed them.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from anynet_study.core import provenance
from anynet_study.core.errors import UserError
from anynet_study.core.files import naming, replacing_folder
from anynet_study.core.functions import source_digest
from anynet_study.engine.study_folder import StudyFolder

#: Memory in huge pages: speed only. glibc reads this when a process begins; without glibc it means
#: nothing.
HUGE_PAGES = "glibc.malloc.hugetlb=1"
NO_FILES: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """A copy of the package and of a user's own modules, in a folder named by its content."""

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
            f'export GLIBC_TUNABLES="${{GLIBC_TUNABLES:+$GLIBC_TUNABLES:}}{HUGE_PAGES}"',
        ]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that this one starts, which imports from here."""
        path = filter(None, [str(self.folder.absolute()), os.environ.get("PYTHONPATH")])
        tunables = filter(None, [os.environ.get("GLIBC_TUNABLES"), HUGE_PAGES])
        ours = {"PYTHONPATH": os.pathsep.join(path), "GLIBC_TUNABLES": ":".join(tunables)}
        return {**os.environ, **ours, "PYTHONSAFEPATH": "1"}


def snapshot(
    folder: Path, package: Path = provenance.PACKAGE, own: Mapping[str, Path] = NO_FILES
) -> Snapshot:
    """Return where in `folder` the snapshot of the package as it is now is, or will be.

    `own`: further files that are in it, by their places on Python's path (`own_sources`).
    """
    return Snapshot(folder / source_digest(_sources(package, own), provenance.code_version()))


def take(
    folder: Path, package: Path = provenance.PACKAGE, own: Mapping[str, Path] = NO_FILES
) -> Snapshot:
    """Copy the package as it is now, unless that was done before; complete once it is there.

    With the files `own`, as in `snapshot`.
    Of several snapshots, the one taken last has changed last (`StudyFolder.remove_litter`).
    """
    made = snapshot(folder, package, own)
    if made.folder.exists():
        copy = made.folder / package.name
        told = (copy / provenance.VERSION_FILE).read_text(encoding="utf-8", errors="replace")
        if told == provenance.code_version() and _as_it_is(copy) == made:
            os.utime(made.folder)
            return made
        print(f"{made.folder}: the snapshot has changed; it is made again", file=sys.stderr)
    with replacing_folder(made.folder) as temporary:
        temporary.chmod(0o700)  # what is executed is nobody else's to change
        for name, path in _sources(package, own).items():
            target = temporary / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with naming(target):
                target.write_bytes(path.read_bytes())
        version = temporary / package.name / provenance.VERSION_FILE
        version.write_text(provenance.code_version(), encoding="utf-8")
    return made


def take_for(study: StudyFolder) -> Snapshot:
    """Take the snapshot of a study: of the package, and of the user's own functions in it."""
    return take(study.code, own=study.own_sources())


def check(folder: Path, package: Path = provenance.PACKAGE) -> None:
    """UserError if `package` is imported from a snapshot in `folder` that has changed."""
    held = package.parent
    of_study = held.parent.resolve() == folder.resolve()
    if of_study and _as_it_is(package).folder.name != held.name:
        raise UserError(f"{held}: the snapshot of the code has changed; launch the study again")


def _as_it_is(copy: Path) -> Snapshot:
    """The snapshot that holds the `copy` of a package, named by what it has in it now."""
    held = copy.parent
    own = {name: path for name, path in _files(held).items() if copy not in path.parents}
    return snapshot(held.parent, copy, own)


def _sources(package: Path, own: Mapping[str, Path]) -> dict[str, Path]:
    """The files of a snapshot by their places in it."""
    files = {f"{package.name}/{name}": path for name, path in _files(package).items()}
    files.pop(f"{package.name}/{provenance.VERSION_FILE}", None)  # which version it is, is known
    return {**files, **own}


def _files(folder: Path) -> dict[str, Path]:
    """The files in a folder, by their places in it, without what Python compiles.

    That is written, under names that vanish, while others import it.
    """
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path
        for name, path in files.items()
        if "__pycache__" not in name.parts and path.suffix not in (".pyc", ".tmp")
    }
