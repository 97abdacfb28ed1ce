"""A downloaded dataset as a tree of files, whether it is a folder or an archive."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anynet_study.data.archives import spool
from anynet_study.data.choices import DEFAULTS, Choices
from anynet_study.data.member import Member
from anynet_study.data.tree import Folder, tree_of_folder, tree_of_names


@dataclass(frozen=True)
class Source:
    """What the user pointed at."""

    path: Path
    tree: Folder
    #: Of an archive: the one file that holds the bytes of all members, and where each one's are.
    spool: Path | None = None
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: How it is to be read.
    choices: Choices = DEFAULTS

    def member(self, name: str) -> Member:
        """The bytes of the file `name`, a path from the source."""
        if self.spool is None:
            return Member(f"{self.path}/{name}")
        return Member(str(self.spool), *self.spans[name])

    def where(self, name: str) -> str:
        """What to call the file or folder `name` in a message."""
        return f"{self.path}/{name}" if name else str(self.path)


@contextmanager
def opened(path: Path, workspace: Path, choices: Choices = DEFAULTS) -> Iterator[Source]:
    """The folder or archive at `path` as a source; an archive is unpacked into `workspace`."""
    if path.is_dir():
        yield Source(path, tree_of_folder(path), choices=choices)
        return
    file = workspace / "unpacked"
    spans = spool(path, file)
    try:
        yield Source(path, tree_of_names(spans), file, spans, choices)
    finally:
        file.unlink()
