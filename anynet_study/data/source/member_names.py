"""Which names the members of an archive may have."""

import re
import unicodedata
from typing import NamedTuple

from anynet_study.errors import UserError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class CheckedName(NamedTuple):
    """The name of a member that may be read."""

    #: In its plainest form.
    path: str
    #: The file before it whose path differs in case only, if there is one.
    twin: str | None = None


class MemberNames:
    """Checks the names of an archive's members one after the other."""

    def __init__(self, archive: str) -> None:
        self._archive = archive
        #: Case-folded path of every file and folder so far: its spelling, and whether a folder.
        self._seen: dict[str, tuple[str, bool]] = {}

    def check(self, name: str, is_folder: bool) -> CheckedName:
        """A member's path in its plainest form; UserError if it is not a plain one.

        Refused: absolute paths, `..`, drives, backslashes, control characters, a file that was
        there before or is also a folder, and a path that differs from another in case only. One
        dataset (HAM10000) is served with all its files in folders of either case: what is twice
        in that way has a `twin`, which must be the same file.
        """
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\\" in name or name[1:2] == ":":
            raise self._refused(name, "its path leads outside")
        if CONTROL.search(name):
            raise self._refused(name, "control characters in its name")
        if not parts and not is_folder:
            raise self._refused(name, "it has no name")
        path = "/".join(parts)
        known, was_folder = self._seen.get(_folded(path), (path, is_folder))
        if known != path and is_folder == was_folder:
            return CheckedName(path, None if is_folder else known)
        for depth in range(1, len(parts) + 1):
            self._note(name, "/".join(parts[:depth]), is_folder or depth < len(parts))
        return CheckedName(path)

    def refuse_twin(self, name: CheckedName) -> UserError:
        """The error for a file that is another than its twin."""
        return self._refused(name.path, f"it collides with {name.twin!r} but for case")

    def _note(self, name: str, path: str, is_folder: bool) -> None:
        folded = _folded(path)
        if folded not in self._seen:
            self._seen[folded] = (path, is_folder)
            return
        known, was_folder = self._seen[folded]
        if known != path:
            raise self._refused(name, f"it collides with {known!r} but for case")
        if not (is_folder and was_folder):
            raise self._refused(name, "the same name occurs before")

    def _refused(self, name: str, reason: str) -> UserError:
        return UserError(f"{self._archive}: member {name!r} refused: {reason}")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
