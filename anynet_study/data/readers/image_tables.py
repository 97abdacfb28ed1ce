"""Tables of images: which column is what, by what their cells mean, and what they say."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from shlex import quote
from typing import Any

from anynet_study.core.errors import UserError, some_of
from anynet_study.core.sheets import JSON_LINES, Csv, column_called, is_missing, normal_form, number
from anynet_study.data.readers import names
from anynet_study.data.readers.image_finder import ImageFinder
from anynet_study.data.readers.safe_files import read_records
from anynet_study.data.readers.sidecars import sidecar_records, sidecars_in
from anynet_study.data.source.source import Choices, Source
from anynet_study.data.source.tree import Folder

LAYOUT = "table of images"
#: Options that say how tables are read, and those of them that make a table of a folder.
LABEL_CHOICES = ("table", "image_column", "label_column", "label_separator", "no_class")
CHOICES = (*LABEL_CHOICES, "group_column", "split_column", "split_values")
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".json", *JSON_LINES)
#: Such files are often no tables: they are named if they were chosen, or called like tables.
OFTEN_OTHER = (".txt", ".json", ".gz")
#: More files than this of one suffix in a folder belong to the images, one to each.
MOST_TABLES = 20
#: Rows that are looked at to see which column names images, and which share must be found.
LOOKED_AT, SHARE = 200, 0.5
#: Cells of a column that says of each image whether it has a class; -1 where no cell says 0.
YES, NO, MINUS = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", ""}, {"-1", "-1.0"}


@dataclass(frozen=True)
class ImageTable:
    """A table whose rows are images, and what its columns are taken for."""

    file: str
    #: Names of columns, and rows of cells; of a table without a header the columns are numbers.
    names: tuple[str, ...]
    rows: list[list[str]]
    finder: ImageFinder
    image: str
    #: One column of classes, or one for each class with a 1 where the image has it; none: no class.
    labels: tuple[str, ...] = ()
    #: Other columns known by name for classes that part the images differently.
    contrary: tuple[str, ...] = ()
    #: Whether the column of classes is declared, or known by its name.
    sure: bool = False
    split: str | None = None
    group: str | None = None
    #: Which part of the dataset the name of the file says it lists.
    part: str | None = None
    #: Columns of no part that look as if they named groups.
    repeating: tuple[str, ...] = ()
    #: Columns of yes and no that may be classes of images that have several, or none.
    flags: tuple[str, ...] = ()

    @property
    def form(self) -> tuple[object, ...]:
        """Return what tables have in common that together are one."""
        return form_of(self.file), self.names, self.labels

    def words(self) -> str:
        """Return what its columns are taken for."""
        told = [f"images in column {self.image!r}"]
        if len(self.labels) == 1:
            told += [f"classes in {self.labels[0]!r}"]
        elif self.labels:
            told += [f"classes one column each ({', '.join(self.labels)})"]
        told += [f"groups in {self.group!r}"] if self.group else []
        told += [f"splits in {self.split!r}"] if self.split else []
        if self.flags and not self.labels:
            told += [f"several classes of an image? --label-column {quote(','.join(self.flags))}"]
        return ", ".join(told)

    def marks(self) -> list[tuple[bool, ...]]:
        """Tell whether each image has each class, where each class is a column."""
        return _marks(map(self.column, self.labels))

    def column(self, name: str) -> list[str]:
        """The cells of a column."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


def find_tables(
    source: Source, root: Folder, all_of_them: bool = False
) -> tuple[list[ImageTable], dict[str, str]]:
    """The tables below `root` whose rows are images of it; of the others, why they are not read.

    Of those that are often no tables (texts, JSON) only what seems to be one, or `all_of_them`.

    UserError where what was chosen fits no table.
    """
    tables, others = [], {}
    finders: dict[str, ImageFinder] = {}
    for path, records in _tables_of(source, root):
        found = (
            _understood(source, root, path, records, finders)
            if isinstance(records, Csv)
            else records
        )
        if isinstance(found, ImageTable):
            tables.append(found)
        elif (
            not path.lower().endswith(OFTEN_OTHER)
            or source.choices.table is not None
            or all_of_them
            or names.tells(path)
        ):
            others[path] = found
    choices, chosen = source.choices, source.choices.chosen()
    there = {None, names.NONE, *(name for table in tables for name in table.names)}
    asked = {choices.image_column, choices.group_column, choices.split_column}
    asked |= {*_columns(choices.label_column, there)}
    if not asked <= there or (chosen.keys() & set(CHOICES) and not tables):
        options = [f"--{n.replace('_', '-')} {chosen[n]!r}" for n in CHOICES if n in chosen]
        told = {table.file: f"has {', '.join(some_of(table.names))}" for table in tables} | others
        shown = "; ".join(f"{path} {why}" for path, why in told.items()) or (
            f"there: {', '.join(table_files(root)) or 'none'}"
        )
        raise UserError(f"{source.where(root.path)}: no table for {', '.join(options)}: {shown}")
    return tables, others


def table_files(root: Folder, chosen: str | None = None) -> list[str]:
    """Paths from `root`; one that is chosen may be called anything."""
    if chosen is not None:
        return [path for path, _, name in root.below() if chosen in (path, name)]
    found = []
    for folder in root.walk():
        sidecars = sidecars_in(folder)
        for suffix in SUFFIXES:
            named = [name for name in folder.files if name.lower().endswith(suffix)]
            files = [name for name in named if name not in sidecars]
            if len(files) <= MOST_TABLES or suffix == ".parquet":
                found += [folder.join(name)[len(root.join("")) :] for name in files]
    return sorted(found)


def _tables_of(source: Source, root: Folder) -> Iterator[tuple[str, Csv | str]]:
    """Every table by path, or why it is none; parts of one table in one folder are this table."""
    alike: dict[tuple[object, ...], dict[str, Csv]] = defaultdict(dict)
    for path in table_files(root, source.choices.table):
        try:
            table = read_records(source, root.join(path), (",", ";", "\t", "|", " "))
        except UserError as error:
            if source.choices.table is not None:
                raise
            where = f"{source.where(root.join(path))}: "
            yield path, f"is not read ({str(error).removeprefix(where)})"
            continue
        alike[(PurePosixPath(path).parent, form_of(path), *table.names)][path] = table
    for path, _, _ in root.below() if source.choices.table is None else ():
        if (reason := names.not_read(path)) is not None:
            yield path, f"is not read ({reason})"
    for shards in alike.values():
        rows = [row for table in shards.values() for row in table.rows]
        if len(shards) > 1 and len({*map(tuple, rows)}) == len(rows):
            path, table = next(iter(shards.items()))
            yield path, replace(table, rows=rows)
        else:
            yield from shards.items()
    if source.choices.table is None:
        yield from sidecar_records(source, root)


def form_of(path: str) -> str:
    """The path without its numbers, in which files of one kind differ."""
    return re.sub(r"\d+", "0", path)


def _understood(
    source: Source, root: Folder, path: str, table: Csv, finders: dict[str, ImageFinder]
) -> ImageTable | str:
    """A table, or why it is none of images."""
    choices = source.choices
    *nearer, last = _places(root, path)
    try:
        for folder in (*nearer, last):
            finder = _finder(source, root, folder, finders)
            image = _image_column(table, choices, finder)
            if folder is last or (image is not None and _all_found(finder, table, image)):
                break
    except UserError as error:
        return str(error)
    if image is None:
        return f"has {', '.join(some_of(table.names))}: none names images of this folder"
    if _means_image(finder, image):
        # The first row is an image, no header.
        numbers = [str(place) for place in range(1, len(table.names) + 1)]
        image = numbers[table.names.index(image)]
        table = Csv(numbers, [table.names, *table.rows], 1)
    return _with_columns(choices, root, path, table, finder, image)


def _places(root: Folder, path: str) -> list[Folder]:
    """Return where the images of a table may be: beside it, or else in the folder of its part,
    or any.
    """
    folder = root
    for name in PurePosixPath(path).parts[:-1] if "*" not in path else ():
        folder = folder.folders[name]
    if folder is not root and folder.holds_images():
        return [folder]
    part = names.part_in(path)
    found = [f for f in root.folders.values() if part and names.part_in(f.name) == part]
    return [*found, root] if len(found) == 1 else [root]


def _finder(
    source: Source, root: Folder, folder: Folder, finders: dict[str, ImageFinder]
) -> ImageFinder:
    if folder.path not in finders:
        finders[folder.path] = ImageFinder(source, root, folder)
    return finders[folder.path]


def _all_found(finder: ImageFinder, table: Csv, image: str) -> bool:
    place = table.names.index(image)
    return all(_found(finder, row[place]) is not None for row in table.rows)


def _means_image(finder: ImageFinder, cell: str, exact: bool = True) -> bool:
    try:
        return finder.find(cell, exact) is not None
    except UserError:  # two images are images
        return True


def _found(finder: ImageFinder, cell: str) -> str | None:
    try:
        return finder.find(cell)
    except UserError:
        return None


def _image_column(table: Csv, choices: Choices, finder: ImageFinder) -> str | None:
    """The column that is chosen, or whose cells mean images; of several, one known by its name.

    UserError where several mean other images.
    """
    if choices.image_column in table.names:
        return choices.image_column
    rows = table.rows[:: max(1, len(table.rows) // LOOKED_AT)] or [table.names]
    for exact in (True, False):
        meant = {
            name: sum(_means_image(finder, row[place], exact) for row in rows) / len(rows)
            for place, name in enumerate(table.names)
        }
        most = max(meant.values())
        if most >= SHARE:
            best = [name for name, share in meant.items() if share == most]
            places = [table.names.index(name) for name in best]
            if all(len({_found(finder, row[place]) for place in places}) == 1 for row in rows):
                return column_called(best, names.IMAGE) or max(best, key=bool)
            if (known := column_called(best, names.IMAGE)) is not None:
                return known
            told = " and ".join(map(repr, best))
            raise UserError(f"has images in columns {told}; choose with --image-column")
    known = column_called(table.names, names.IMAGE)
    if known is not None and any(meant.values()):
        return known
    return None


def _with_columns(
    choices: Choices, root: Folder, path: str, table: Csv, finder: ImageFinder, image: str
) -> ImageTable | str:
    header = table.names
    rest = [name for name in header if name != image]
    group = _unless_none(rest, choices.group_column, names.GROUP)
    cells = dict(zip(header, map(list, table.columns()), strict=True))
    split = _unless_none(rest, choices.split_column, names.SPLIT)
    if split is None and choices.split_column is None:
        split = next((name for name in rest if _are_parts(cells[name])), None)
        if len(rest) == 1 and names.tells(path, names.OF_SPLITS):
            split = split or (None if column_called(rest, names.LABEL) else rest[0])
    free = [name for name in rest if name not in (group, split)]
    declared = [name for name in table.classes if name in free]
    chosen = _columns(choices.label_column, header)
    labels, sure = chosen if {*chosen} <= {*rest} else (), True
    if not chosen:
        labels, sure = _labels(free, cells, declared)
    if not chosen and (told := next((n for n in labels if _measures(cells[n])), None)):
        return f"has {told!r}, numbers with decimals; as classes: --label-column {told!r}"
    flags = _flags(free, cells)
    if not chosen and not any(cell not in ("", "-1") for name in labels for cell in cells[name]):
        labels, sure = (), False  # a test set whose classes are not published
    contrary = []
    if sure and not chosen and len(labels) == 1:
        known = declared or (name for name in free if column_called([name], names.LABEL))
        contrary = [name for name in known if not _alike(cells, labels[0], name)]
    repeating = [
        name
        for name in free
        if _repeats(name, cells[name])
        and not any(name == label or _alike(cells, label, name) for label in labels)
    ]
    return ImageTable(
        path,
        tuple(header),
        table.rows,
        finder,
        image,
        labels=labels,
        contrary=tuple(contrary),
        sure=sure,
        split=split,
        group=group,
        part=names.part_in(path),
        repeating=tuple(repeating),
        flags=flags if len(flags) > 1 else (),
    )


def _are_parts(cells: Sequence[str]) -> bool:
    """Tell whether a column says nothing but parts of a dataset, and more than one."""
    found = {names.part_of(cell) for cell in {*cells}}
    return len(found) > 1 and None not in found


def _measures(cells: list[str]) -> bool:
    """Tell whether a column holds numbers, some of them with decimals: a measurement, no class."""
    known = [number(cell) for cell in cells if not is_missing(cell)]
    return bool(known) and all(map(math.isfinite, known)) and any(value % 1 for value in known)


def _columns(chosen: str | None, header: Collection[str | None]) -> tuple[str, ...]:
    """The columns that are chosen: one, or several with commas between them."""
    if chosen is None or chosen in header:
        return () if chosen is None else (chosen,)
    return tuple(name.strip() for name in chosen.split(","))


def _unless_none(header: Sequence[str], chosen: str | None, known: Sequence[str]) -> str | None:
    if chosen is not None:
        return chosen if chosen in header else None
    return column_called(header, known)


def one_to_one(pairs: set[tuple[Any, Any]]) -> bool:
    """Tell whether each first part has one second part, and the other way round."""
    return len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})


def _alike(cells: Mapping[str, list[str]], one: str, other: str) -> bool:
    return one_to_one(set(zip(cells[one], cells[other], strict=True)))


def _labels(
    free: Sequence[str], cells: Mapping[str, list[str]], declared: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """The columns of classes, and whether that is sure: declared in the file, or known by name."""
    first = column_called(declared, names.LABEL) or next(iter(declared), None)
    is_place = column_called(cells, ("x",)) is not None  # then y is its other coordinate
    called = [name for name in free if not (is_place and normal_form(name) == "y")]
    first = first or column_called(called, names.LABEL)
    if first is not None:
        return (first,), True
    free = [name for name in free if not _is_index(name, cells[name])]
    flags = _flags(free, cells)
    if len(flags) > 1 and {1} == {sum(row) for row in _marks(cells[name] for name in flags)}:
        return flags, True
    # Classes have several images.
    found = [name for name in free if len({*cells[name]}) < len(cells[name])]
    return (tuple(free), False) if len(free) == 1 and found else ((), False)


def _is_index(name: str, cells: Sequence[str]) -> bool:
    """Tell whether a column counts the rows, as that of a data frame's index does."""
    counts = ([str(n + first) for n in range(len(cells))] for first in (0, 1))
    return normal_form(name) in names.INDEX and (bool(name) or [*cells] in [*counts])


def _flags(free: Sequence[str], cells: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The columns that say yes and no, where -1 is no unless 0 is."""
    told = {name: {cell.lower() for cell in cells[name]} for name in free}
    zero = any(found & (NO - {""}) for found in told.values())
    legal = YES | NO | (set() if zero else MINUS)
    return tuple(name for name, found in told.items() if found & YES and found <= legal)


def _marks(columns: Iterable[Sequence[str]]) -> list[tuple[bool, ...]]:
    """Tell whether each row has a yes, by column."""
    return [tuple(cell.lower() in YES for cell in row) for row in zip(*columns, strict=True)]


def _repeats(name: str, cells: Sequence[str]) -> bool:
    """Tell whether a column looks like ids, and ids come several times."""
    words = set(normal_form(name).split("_"))
    known = column_called([name], names.GROUP) is not None
    return (known or bool(words & names.ID_WORDS)) and 1 < len({*cells}) <= len(cells) / 1.5
