"""Inputs from outside as people have them, and how each has to end: rows of the two corpora.

Two shares are measured, and printed at the end of a run: inputs misread without a word, and inputs
refused though they are plain.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from command import environment, told

#: What a refusal tells to type: options with values, as a shell takes them; not NAME and COLUMN.
HINT = re.compile(r"--(?:[a-z]+-)*[a-z]+(?: (?:'[^']+'|[^\s;,()'A-Z][^\s;()']*))?")
#: Options without a value.
ALONE = {
    *("--accuracy", "--error", "--fraction", "--percent", "--transpose", "--no-transpose"),
    *("--ignore-case",),
}
#: Options that are no answers: what is asked of is of another kind.
OTHERS = {"--encoding", "--force", "--max-broken", "--max-duplicates", "--layout"}


@dataclass(frozen=True)
class Row:
    """One input, and how it has to end."""

    name: str
    #: Files by path with their text, or what writes them into a folder.
    files: Mapping[str, str] | Callable[[Path], None]
    options: str = ""
    #: Where it is plain: what the account says, and what not.
    says: Sequence[str] = ()
    lacks: Sequence[str] = ()
    #: Where it is unclear: words that name it, in the refusal or a note.
    asks: Sequence[str] = ()
    #: What is typed, with the options in it.
    command: str = "import t.csv {} --dry-run"

    def ends(self, folder: Path, more: str = "") -> tuple[int, str]:
        """The exit code of the command in `folder`, and what it says."""
        if callable(self.files):
            self.files(folder)
        else:
            for path, text in self.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")
        typed = shlex.split(self.command.format(f"{self.options} {more}"))
        done = told(folder, tuple(typed), environment(folder))
        return done.returncode, done.stdout + done.stderr

    def judged(self, folder: Path) -> tuple[str, str]:
        """How it ends: fine, misread without a word, or refused though plain; and what was said."""
        code, said = self.ends(folder)
        if code == 2 and not self.asks:
            return "refused though plain", said
        if code == 2:
            named = all(word.lower() in said.lower() for word in self.asks)
            return ("fine" if named else "refused though plain"), said
        notes = "\n".join(line for line in said.splitlines() if "note" in line).lower()
        is_told = bool(self.asks) and all(word.lower() in notes for word in self.asks)
        right = not self.asks and all(text in said for text in self.says)
        right &= not any(text in said for text in self.lacks)
        return ("fine" if code == 0 and (is_told or right) else "misread without a word"), said


def hints(said: str) -> list[str]:
    """What a refusal tells to type, each with its value."""
    found = []
    for hint in HINT.findall(re.sub("in place of --[a-z]+", "", said)):
        option = hint.split(" ")[0]
        if option in ALONE:
            found.append(option)
        elif " " in hint and option not in OTHERS and not re.search("COLUMN|NAME|FILE", hint):
            found.append(hint.rstrip(".:"))
    return list(dict.fromkeys(found))
