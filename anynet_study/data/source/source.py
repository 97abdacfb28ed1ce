"""A downloaded dataset as a tree of files, whether it is a folder, an archive, or has archives."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from anynet_study.core.errors import UserError, keeps_from_reading
from anynet_study.core.progress import progress
from anynet_study.data.source import parquet
from anynet_study.data.source.archives import Budget, archive_stem, is_archive, unpack
from anynet_study.data.source.member import Member
from anynet_study.data.source.tree import Folder, is_image, tree_of_folder, tree_of_names


@dataclass(frozen=True)
class Choices:
    """The choices of the user, each an option of `data add`; None: the layout's own default."""

    #: Key of the layout, where more than one fits.
    layout: str | None = None
    #: Which labels, where there are several: those of CIFAR-100 are fine or coarse.
    labels: str | None = None
    #: Which of several test sets: of CCT-20 cis_test or trans_test, of CIFAR-10.1 v4 or v6.
    test_part: str | None = None
    #: Height and width in pixels of what is cut out around annotated points.
    patch_size: int | None = None
    #: The packed dataset in whose order a test set numbers its classes.
    classes_of: str | None = None
    #: Of a table of images: its file, and its columns.
    table: str | None = None
    image_column: str | None = None
    label_column: str | None = None
    group_column: str | None = None
    split_column: str | None = None
    #: What the words of the column of splits mean, such as 0=train,1=validation,2=test.
    split_values: str | None = None
    #: What paths of the images of one group have in common: a pattern; "none": no groups.
    group_pattern: str | None = None
    #: What is between several classes in one cell.
    label_separator: str | None = None
    #: What the class of images without one is called; "none" leaves them out.
    no_class: str | None = None
    #: Names or paths of files and folders to leave out, separated by commas.
    ignore: str | None = None
    #: "yes": classes that differ in case only are one.
    ignore_case: str | None = None

    def split_words(self) -> dict[str, str]:
        """The part that each word of a column of splits means; UserError for what is no such map.

        >>> Choices(split_values="0=train,2=test").split_words()
        {'0': 'train', '2': 'test'}
        """
        pairs = [pair.rpartition("=") for pair in (self.split_values or "").split(",") if pair]
        legal = ("train", "test", "validation", "none")
        for word, mark, part in pairs:
            if not mark or part not in legal:
                told = f"{word}{mark}{part}"
                raise UserError(
                    f"--split-values: {told!r} is not WORD=PART; parts are {', '.join(legal)}"
                )
        return {word.strip(): part for word, _, part in pairs}

    def chosen(self) -> dict[str, str]:
        """Return what was chosen, by option name, as text."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: str(value) for name, value in values if value is not None}

    def require_known(self, layout: str, known: tuple[str, ...]) -> None:
        """UserError for a choice that means nothing to `layout`, which knows `known` only."""
        for name in self.chosen():
            if name not in (*OF_ALL_LAYOUTS, *known):
                option = f"--{name.replace('_', '-')}"
                legal = ", ".join(f"--{other.replace('_', '-')}" for other in known) or "none"
                raise UserError(f"{option} means nothing to layout {layout!r}; legal: {legal}")


#: Choices that every layout heeds.
OF_ALL_LAYOUTS = ("layout", "ignore", "group_pattern")
#: Nothing chosen.
NO_CHOICES = Choices()


#: Archives inside archives are opened so deep: ImageNet's, in a zip of its own, need two.
MOST_NESTED = 3


#: Endings of single files that are read as a folder with this file alone.
TABLES_OF_PIXELS = (parquet.ENDING, ".mat")

#: First bytes of JPEG, PNG, GIF and WebP; those of other formats are too short to tell.
_IMAGE = re.compile(rb"\xff\xd8\xff|\x89PNG\r\n|GIF8[79]a|RIFF....WEBP", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """The folder or archive that the user named."""

    path: Path
    tree: Folder
    #: Files that are inside archives: where their bytes are, by path from the source.
    members: Mapping[str, Member] = field(default_factory=dict)
    #: How it is to be read.
    choices: Choices = NO_CHOICES
    #: Where archives may be unpacked; None: those inside it stay closed.
    workspace: Path | None = None
    #: How often the archives inside were opened.
    depth: int = 0

    def member(self, name: str) -> Member:
        """The bytes of the file `name`, a path from the source."""
        return self.members.get(name) or Member(f"{self.path}/{name}")

    def where(self, name: str) -> str:
        """Return what to call the file or folder `name` in a message."""
        return f"{self.path}/{name}" if name else str(self.path)

    def prepare(self) -> None:
        """Leave out of the tree what is to be ignored, and mark images that only content tells.

        UserError for something to be ignored that is not there.
        """
        patterns = [part.strip() for part in (self.choices.ignore or "").split(",") if part]
        unused = set(patterns) - self.tree.leave_out(patterns)
        if unused and self.depth == 0 and not self.archives():
            raise UserError(f"--ignore {min(unused)!r}: no such file or folder in {self.path}")
        for folder in self.tree.walk():
            others = [n for n in folder.files if not (is_image(n) or is_archive(n))]
            folder.unnamed = {n for n in others if self._starts_as_image(folder.join(n))}

    def _starts_as_image(self, name: str) -> bool:
        member = self.member(name)
        try:
            return _IMAGE.match(member._replace(size=min(16, member.length())).read(16)) is not None
        except OSError as error:
            if keeps_from_reading(error):
                raise
            return False

    def archives(self) -> list[str]:
        """Archives in it, by path; without those whose extracted folder is beside them."""
        return [
            folder.join(name)
            for folder in self.tree.walk()
            for name in folder.files
            if is_archive(name) and archive_stem(name) not in folder.folders
        ]

    def with_archives_open(self) -> "Source | None":
        """Open the archives of this source as folders of their stems; None if it has none.

        UserError if an archive is hostile or damaged; archives too deep inside others stay closed.
        """
        archives = self.archives()
        if not archives or self.workspace is None or self.depth == MOST_NESTED:
            return None
        members = dict(self.members)
        for name, inside in self._unpacked(archives, self.workspace):
            stem = archive_stem(name)
            own = f"{stem.rpartition('/')[2]}/"  # cat.zip may hold cat/...
            doubled = all(path.startswith(own) for path in inside)
            inside = {path.removeprefix(own * doubled): m for path, m in inside.items()}
            members |= {f"{stem}/{path}": m for path, m in inside.items()}
            if not name.lower().endswith(parquet.ENDING):
                members.pop(name, None)
        # The classes of a Parquet file's images are in the file itself.
        closed = {name for name in archives if not name.lower().endswith(parquet.ENDING)}
        files = (folder.join(name) for folder in self.tree.walk() for name in folder.files)
        names = {name for name in files if name not in closed} | members.keys()
        tree = tree_of_names(names, self.tree.called)
        return dataclasses.replace(self, tree=tree, members=members, depth=self.depth + 1)

    def _unpacked(
        self, archives: list[str], workspace: Path
    ) -> Iterator[tuple[str, dict[str, Member]]]:
        """Each archive and what is in it."""
        budget = Budget(self._archived(archives))
        lengths = {name: self.member(name).length() for name in archives}
        with _megabytes(self.tree.called, sum(lengths.values())) as report:
            before = 0
            for number, (name, length) in enumerate(lengths.items()):
                target = workspace / f"unpacked-{self.depth}-{number}"
                done = partial(report, before)
                yield name, unpack(self.member(name), self.where(name), target, budget, done)
                before += length

    def _archived(self, archives: list[str]) -> int:
        """Bytes on the user's disk that the contents of `archives` come from."""
        if self.path.is_file():
            return self.path.stat().st_size
        return sum(self.member(name).length() for name in archives if name not in self.members)


@contextmanager
def _megabytes(called: str, length: int) -> Iterator[Callable[[int, int], None]]:
    """Progress of unpacking `length` bytes, told by those read before and those read now."""
    total = max(1, round(length / 1e6))
    with progress(f"unpacking {called}", total, of=f"/{total} MB") as report:
        yield lambda before, read: report(min(round((before + read) / 1e6), total - 1))
        report(total)


@contextmanager
def opened(path: Path, workspace: Path, choices: Choices = NO_CHOICES) -> Iterator[Source]:
    """The folder or archive at `path` as a source; archives are unpacked into `workspace`."""
    called = archive_stem(path.resolve().name)
    if path.is_dir():
        yield Source(path, tree_of_folder(path, called), choices=choices, workspace=workspace)
        return
    file = Member(str(path))
    if path.suffix.lower() in TABLES_OF_PIXELS:
        tree = tree_of_names([path.name], called)
        yield Source(path, tree, {path.name: file}, choices, workspace)
        return
    with _megabytes(called, file.length()) as report:
        target, budget = workspace / "unpacked", Budget(file.length())
        members = unpack(file, str(path), target, budget, partial(report, 0))
    tree = tree_of_names(members, called)
    yield Source(path, tree, members, choices, workspace)
