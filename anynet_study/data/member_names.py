"""Which names the members of an archive may have."""

import re
import unicodedata

from anynet_study.errors import UserError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class MemberNames:
    """Checks the names of an archive's members one after the other."""

    def __init__(self, archive: str) -> None:
        self._archive = archive
        #: Case-folded path of every file and folder so far: its spelling, and whether a folder.
        self._seen: dict[str, tuple[str, bool]] = {}

    def check(self, name: str, is_folder: bool) -> str:
        """A member's path in its plainest form; UserError if it is not a plain one.

        Refused: absolute paths, `..`, drives, backslashes, control characters, a file that was
        there before or is also a folder, and paths that differ in case only.
        """
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\\" in name or name[1:2] == ":":
            raise self._refused(name, "its path leads outside")
        if CONTROL.search(name):
            raise self._refused(name, "control characters in its name")
        if not parts and not is_folder:
            raise self._refused(name, "it has no name")
        for depth in range(1, len(parts) + 1):
            self._note(name, "/".join(parts[:depth]), is_folder or depth < len(parts))
        return "/".join(parts)

    def _note(self, name: str, path: str, is_folder: bool) -> None:
        folded = unicodedata.normalize("NFC", path).casefold()
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
