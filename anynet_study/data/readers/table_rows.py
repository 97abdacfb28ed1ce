"""What tables say of each image: classes, group, part of the dataset; and the listing of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from anynet_study.core.errors import UserError, counted, listed
from anynet_study.core.sheets import SEVERAL
from anynet_study.data.readers import names
from anynet_study.data.readers.image_tables import ImageTable
from anynet_study.data.readers.listing import Example, Listing, Unread
from anynet_study.data.source.source import Choices, Source
from anynet_study.data.source.tree import Folder

#: Cells of a column of classes where there is none; where classes are numbers from 0, -1 too.
NO_CLASS = {"", "na", "n/a", "nan", "null"}
UNLABELLED = "-1"
#: What cells with several classes may have between them. The last are in names of classes as well,
#: if not all that they part are classes.
MOST_TAGGED = 2000
MARKS, UNSURE_MARKS = "|;", ",/+& "


@dataclass(frozen=True)
class Row:
    """What tables say of one image."""

    labels: tuple[str, ...] = ()
    group: str = ""
    #: train, test or validation; None: nothing.
    part: str | None = None
    #: What else its example has: pixels, channels.
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Rows:
    """What tables say of images, by path; and what could not be read of them."""

    images: dict[str, Row]
    broken: list[Unread]
    #: Images that are listed, but left out as the user declares: of no part, or of no class.
    left: int = 0
    #: Rows that say again what an earlier one says of their image.
    repeated: int = 0


def read_rows(source: Source, root: Folder, tables: Sequence[ImageTable]) -> Rows:
    """Return what `tables` say of the images, each of which is in one row.

    Rows of an image that is not there are broken. One that repeats what an earlier one says, as
    each box of a class in an image does, is counted.
    """
    rows = Rows({}, [])
    for table in tables:
        where = source.where(root.join(table.file))
        groups = table.column(table.group) if table.group else [""] * len(table.rows)
        parts = _parts(where, table, source.choices, len(tables) > 1)
        labels = _row_labels(where, table, source.choices)
        cells = zip(table.column(table.image), labels, groups, parts, strict=True)
        for cell, classes, group, part in cells:
            try:
                image = table.finder.find(cell)
            except UserError as error:
                raise UserError(f"{where}: {error}") from None
            if image is None:
                reason = f"{table.file} lists it, but it is not there"
                rows.broken.append(Unread(cell, reason))
            elif image in rows.images:
                known = rows.images[image].labels
                if known != classes:
                    told = " and ".join(repr(", ".join(found)) for found in (known, classes))
                    raise UserError(
                        f"{where}: {image} is listed twice, as {told}; an image of several classes "
                        "has them in one row, with a mark between them: --label-separator"
                    )
                rows.repeated += 1
            elif part != names.NONE and (classes or not table.labels):
                rows.images[image] = Row(classes, group, part)
            else:
                rows.left += 1
    return rows


def _row_labels(where: str, table: ImageTable, choices: Choices) -> list[tuple[str, ...]]:
    """The classes of each row, in words."""
    if not table.labels:
        return [()] * len(table.rows)
    if len(table.labels) > 1:
        unclear = next((name for name in table.labels if name not in table.flags), None)
        if unclear is not None:
            raise UserError(f"{where}: column {unclear!r} holds more than 0 and 1 (or 1 and -1)")
        marks = table.marks()
        found = [tuple(compress(table.labels, row)) for row in marks]
    else:
        found = _in_cells(where, table, choices.label_separator)
    if () in found:
        where += f": {table.column(table.image)[found.index(())]}"
    return with_no_class(
        f"{where} has no class in column {listed([*map(repr, table.labels)])}", found, choices
    )


def with_no_class(
    told: str, found: list[tuple[str, ...]], choices: Choices
) -> list[tuple[str, ...]]:
    """The classes of images, of those without one what is declared; UserError where nothing is."""
    if () in found and choices.no_class is None:
        raise UserError(
            f"{told} ({found.count(())} of {len(found)} images); --no-class NAME makes them a "
            "class, --no-class none leaves them out"
        )
    without = () if choices.no_class == names.NONE else (str(choices.no_class),)
    return [classes or without for classes in found]


def _in_cells(where: str, table: ImageTable, separator: str | None) -> list[tuple[str, ...]]:
    """The classes in each cell of one column; UserError where a cell may have several."""
    cells = [" ".join(cell.split()) for cell in table.column(table.labels[0])]
    if all(re.fullmatch(r"-?\d+(\.0)?", cell) for cell in cells if cell):
        cells = [cell.removesuffix(".0") for cell in cells]
        cells = ["" if cell == UNLABELLED and "0" in cells else cell for cell in cells]
    if separator or any(SEVERAL in cell for cell in cells):
        split = (cell.split(separator or SEVERAL) for cell in cells)
        parts = ([part.strip(" []'\"" if separator else " ") for part in row] for row in split)
        return [tuple(dict.fromkeys(filter(None, found))) for found in parts]
    if separator is None and (mark := _mark({*cells})) is not None:
        several = next(cell for cell in cells if mark in cell)
        raise UserError(
            f"{where}: column {table.labels[0]!r} says {several!r}: several classes? Say with "
            f"--label-separator {mark!r} what is between them, or that it is nothing: ''"
        )
    return [() if cell.lower() in NO_CLASS else (cell,) for cell in cells]


def _are_tags(cells: set[str]) -> bool:
    """Tell whether cells are sets of words, of which some hold others: clear haze, clear haze road.

    One word alone in another cell may be a name of a class in a longer one (bear, brown bear).
    """
    words = [frozenset(cell.split()) for cell in cells]
    several = [found for found in words if len(found) > 1]
    return any(one < other for one in several for other in words)


def _mark(cells: set[str]) -> str | None:
    """Return what seems to be between several classes in a cell."""
    for mark in MARKS:
        joined = [cell for cell in cells if re.search(rf"\S\s*\{mark}\s*\S", cell)]
        if joined and len(cells) > len({p.strip() for cell in cells for p in cell.split(mark)}):
            return mark
    if any(re.fullmatch(r"\[.*,.*\]", cell) for cell in cells):
        return ","
    for mark in UNSURE_MARKS:
        joined = [cell for cell in cells if mark in cell]
        parts = {part.strip() for cell in joined for part in cell.split(mark)}
        if joined and parts <= cells:
            return mark
    return " " if len(cells) <= MOST_TAGGED and _are_tags(cells) else None


def _parts(where: str, table: ImageTable, choices: Choices, several: bool) -> list[str | None]:
    """The part of each row: by its column of splits, or where there are several tables their names.

    UserError for a word that is not known: `--split-values` says what it means.
    """
    if table.split is None:
        return [table.part if several else None] * len(table.rows)
    told = choices.split_words()
    known: dict[str, str] = {}
    cells = table.column(table.split)
    for cell in dict.fromkeys(cells):
        part = told.get(cell) or names.part_of(cell)
        if part is None:
            words = ",".join(f"{word}=..." for word in sorted({*cells}))
            raise UserError(
                f"{where}: column {table.split!r} says {cell!r}, which is none of train, test and "
                f"validation; say what its words mean with --split-values {words} (train, test, "
                f"validation or none), choose another column with --split-column, or none"
            )
        known[cell] = part
    return [known[cell] for cell in cells]


def in_order(labels: Iterable[str]) -> list[str]:
    """Numbers in their order, others as text."""
    found = {*labels}
    numeric = all(label.isascii() and label.isdigit() for label in found)
    return sorted(found, key=int if numeric else str)


def listing_of(
    source: Source,
    root: Folder,
    layout: str,
    rows: Rows,
    classes: Mapping[str, str] | None = None,
    *,
    table: str = "",
    **more: Any,
) -> Listing:
    """The images that tables list; a validation part is the test split where there is no other.

    `classes`: the class of each label, by default itself. UserError where none is for training.
    """
    counts = Counter(label for row in rows.images.values() for label in row.labels)
    labels = in_order(counts)
    called = {label: label for label in labels} if classes is None else classes
    unknown = next((label for label in labels if label not in called), None)
    if unknown is not None:
        told = f"no name for label {unknown!r}; legal: {', '.join(called)}"
        raise UserError(f"{source.where(root.join(table))}: {told}")
    found = tuple(dict.fromkeys(called[label] for label in labels))
    number = {label: found.index(called[label]) for label in labels}
    parts: dict[str, list[Example]] = defaultdict(list)
    for image, row in rows.images.items():
        # An image of several classes is stratified by its rarest.
        first, *others = sorted(row.labels, key=lambda label: (counts[label], label))
        also = tuple(sorted(number[label] for label in others))
        example = Example(image, number[first], row.group, also=also, **row.more)
        parts[row.part or "train"].append(example)
    train, notes = parts["train"], list[str]()
    if not train:
        raise UserError(f"{source.where(root.path)}: the table has no training image")
    if _is_placeholder(parts["test"], train):
        only = found[parts["test"][0].label]
        notes = [f"test split left out: all its images are of one class, {only!r}: a placeholder?"]
        parts["test"] = []
        more |= {} if parts["validation"] else {"splits_from": ""}
    test = parts["test"] or parts["validation"] or None
    unused = parts["validation"] if parts["test"] else []
    notes += [f"{counted(len(unused), 'image')} for validation not read"] if unused else []
    notes += [f"{counted(rows.repeated, 'row')} repeat an image of the same class"] * (
        rows.repeated > 0
    )
    several = any(len(row.labels) > 1 for row in rows.images.values())
    own: dict[str, Any] = {
        "multi_label": several,
        "broken": tuple(rows.broken),
        "notes": tuple(notes),
    }
    return Listing.found(layout, root, found, train, test, **(own | more))


def _is_placeholder(test: Sequence[Example], train: Sequence[Example]) -> bool:
    """Tell whether all of several test images have one class, where those of training have
    several.
    """
    return len(test) > 1 and len({e.label for e in test}) == 1 < len({e.label for e in train})
