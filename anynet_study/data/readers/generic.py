"""Anybody's images: class folders, split folders and tables, understood together or refused.

Classes come from folders or from a table; a table beside class folders may say splits and groups.
Where both could say the classes and do not agree, nothing is guessed.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from anynet_study.data.readers import names
from anynet_study.data.readers.folders import (
    CLASS_IMAGE,
    SPLIT_CLASS_IMAGE,
    class_folders,
    eurosat_folders,
    hold_classes,
    hold_splits,
    inner_root,
    read_eurosat,
    split_folders,
    split_parts,
)
from anynet_study.data.readers.image_tables import (
    CHOICES,
    LABEL_CHOICES,
    LAYOUT,
    ImageTable,
    find_tables,
    holds_tables,
    one_to_one,
)
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.table_rows import Row, Rows, listing_of, read_rows
from anynet_study.data.source import parquet
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError, counted
from anynet_study.sheets import normal_form

#: What words of a class's name may have between them: one name is written with any.
BETWEEN_WORDS = re.compile(r"(?<=\w)[\s_-]+(?=\w)|(?<=[^\W_])_+(?=[^\W_])|\s+")
#: Columns named in a message.
SHOWN = 8


def _is_table(source: Source, root: Folder) -> bool:
    """Images, and a table with their classes, or one that is chosen."""
    if not root.holds_images():
        return False
    if source.choices.chosen().keys() & set(CHOICES):
        return source.choices.table is not None or holds_tables(source, root)
    return any(table.labels for table in find_tables(source, root)[0])


def _from_folders(
    read: Callable[[Source, Folder], Listing], fits: Callable[[Folder], bool]
) -> Callable[[Source, Folder], Listing]:
    """Reads the folder that fits, and the tables anywhere below the root."""

    def reader(source: Source, root: Folder) -> Listing:
        told = source.choices.layout is not None
        inner = inner_root(root, fits) or root
        doubt = None if told else _doubt(source, inner)
        tables, others = find_tables(source, root)
        labelled = [table for table in tables if table.labels]
        if doubt is None:
            listing = read(source, inner)
            return _without_twins(source, _with_tables(source, root, listing, tables, others))
        if labelled:
            return _from_tables(source, root, tables, others)
        raise UserError(f"{doubt}; {_tables_told(tables, others)}")

    return reader


def _read_table(source: Source, root: Folder) -> Listing:
    """The images that tables list with their classes."""
    return _from_tables(source, root, *find_tables(source, root))


def _from_tables(
    source: Source, root: Folder, tables: list[ImageTable], others: dict[str, str]
) -> Listing:
    """The same from the tables and the other files that `find_tables` found."""
    labelled = [table for table in tables if table.labels]
    parts = {table.part for table in labelled}
    if unclear := next((table for table in labelled if table.contrary), None):
        raise UserError(
            f"{source.where(root.join(unclear.file))}: classes could be in column "
            f"{' or '.join(map(repr, (*unclear.labels, *unclear.contrary)))}, which do not agree; "
            "choose with --label-column"
        )
    if not labelled:
        raise UserError(
            f"{source.where(root.path)}: {_tables_told(tables, others)}; say with --label-column "
            "which column holds the classes"
        )
    if len(labelled) > 1 and (None in parts or len(parts) < len(labelled)):
        files = ", ".join(table.file for table in labelled)
        raise UserError(
            f"{source.where(root.path)}: {files} could all be the table of images; choose one "
            "with --table"
        )
    rows = read_rows(source, root, labelled)
    told = _sources(labelled)
    if source.choices.split_column is None and "splits_from" not in told:
        parted = _parts_of_folders(rows)
        told |= {} if parted is rows else {"splits_from": "the folders of the images"}
        rows = parted
    listing = listing_of(source, root, LAYOUT, rows, **told)
    notes = [
        f"{table.file}: {table.words()}; --image-column and so on choose others"
        for table in labelled
    ]
    unlisted = len(root.images()) - len(rows.images) - rows.left
    notes += [f"{counted(rows.left, 'image')} left out, as declared"] if rows.left else []
    notes += [f"{counted(unlisted, 'image')} in no table, so without a class"] if unlisted else []
    unused = {t.file: f"is not read: {t.words()}" for t in tables if t not in labelled}
    return _without_twins(
        source, _noted(listing, [*notes, *_repeating(labelled)], {**unused, **others})
    )


def _parts_of_folders(rows: Rows) -> Rows:
    """The rows with the parts that folders of their images say, if all do and not all the same."""
    parts = {
        image: next(
            (part for name in PurePosixPath(image).parts[:-1] if (part := names.part_of(name))),
            None,
        )
        for image in rows.images
    }
    if None in parts.values() or len({*parts.values()}) < 2:
        return rows
    images = {image: replace(row, part=parts[image]) for image, row in rows.images.items()}
    return replace(rows, images=images)


def _sources(tables: list[ImageTable]) -> dict[str, Any]:
    """Where classes, splits and groups come from, for the account."""
    files = ", ".join(table.file for table in tables)
    splits = next((t.split for t in tables if t.split), None)
    groups = next((t.group for t in tables if t.group), None)
    names_of = " and ".join(dict.fromkeys(name for table in tables for name in table.labels))
    told: dict[str, Any] = {"classes_from": f"column {names_of} of {files}"} if names_of else {}
    if splits is not None:
        told["splits_from"] = f"column {splits} of {files}"
    elif len(tables) > 1 and None not in {table.part for table in tables}:
        told["splits_from"] = f"the tables {files}"
    if groups is not None:
        told["groups_from"] = f"column {groups} of {files}"
    return told


def _repeating(tables: list[ImageTable]) -> list[str]:
    return [
        f"{table.file}: {name} repeats: is it a group? --group-column {name!r} keeps its images "
        "on one side of a split"
        for table in tables
        for name in table.repeating
        if table.group is None
    ]


def _noted(listing: Listing, notes: list[str], tables: Mapping[str, str]) -> Listing:
    told = [f"{file} {why}" for file, why in tables.items()]
    return replace(
        listing, notes=(*listing.notes, *notes, *told), tables={**listing.tables, **tables}
    )


def _tables_told(tables: list[ImageTable], others: Mapping[str, str]) -> str:
    told = [f"{t.file} has {', '.join(t.names)} ({t.words()})" for t in tables]
    told += [f"{file} {why}" for file, why in others.items()]
    return "; ".join(told) or "there is no table of their classes"


def _doubt(source: Source, root: Folder) -> str | None:
    """Why the folders of `root` may be no classes; None where nothing speaks against it."""
    splits = split_parts(root) if hold_splits(root) else []
    for parent in splits or [root]:
        folders = [*parent.folders.values()]
        called = [folder.name for folder in folders if folder.holds_images()]
        if opened := next((n for n in called if f"{n}{parquet.ENDING}" in parent.files), None):
            told = f"{parent.join(opened)}{parquet.ENDING}"
            return f"{source.where(told)}: no column of it is known to hold classes"
        wrong = names.no_classes(called)
        # In a folder of its own, a class may well be called train.
        if wrong and (not splits or len(wrong) == len(called)):
            shown = ", ".join(wrong[:SHOWN]) + (", ..." if len(wrong) > SHOWN else "")
            says = "its name says" if len(wrong) == 1 else "their names say"
            return (
                f"{source.where(root.path)}: folder {shown}: {says} part of a dataset, not a "
                "class, so its images have no labels; --layout class-folders (or split-folders) "
                f"takes folders for classes whatever their names, --ignore {wrong[0]} leaves one "
                "out"
            )
        for folder in folders:
            if reason := _inner_doubt(folder, {*called}):
                return f"{source.where(folder.path)}: {reason}"
    return None


def _inner_doubt(folder: Folder, called: set[str]) -> str | None:
    """Why a class folder may hold more than its images."""
    same = [name for name in folder.folders if name in called - {folder.name}]
    if len(same) >= min(2, len(called) - 1) and same:
        return (
            f"holds folders called as other classes ({', '.join(same[:SHOWN])}): a copy of the "
            f"dataset? --ignore {folder.name} leaves it out, --layout takes it as it is"
        )
    for below in folder.walk():
        direct = {PurePosixPath(name).stem for name in below.files if below.is_image(name)}
        for stem in sorted(direct):
            other = names.OF_ANOTHER.fullmatch(stem)
            if other is not None and other[1] in direct:
                return (
                    f"{below.join(stem)} is called as {other[1]} beside it: a mask? --ignore "
                    f"'*{stem[len(other[1]) :]}*' leaves such out, --layout takes them"
                )
        for name, inner in below.folders.items():
            images = [PurePosixPath(image).stem for image in inner.images()]
            aside = normal_form(name) in names.BESIDE_IMAGES and images
            twins = sum(stem in direct for stem in images) if direct else 0
            if aside or (twins >= 2 and twins >= len(images) / 2):
                return (
                    f"{inner.path} holds {counted(len(images), 'image')} called as those beside: "
                    f"masks or thumbnails? --ignore {name} leaves them out, --layout takes them"
                )
    return None


def _with_tables(
    source: Source,
    root: Folder,
    listing: Listing,
    tables: list[ImageTable],
    others: Mapping[str, str],
) -> Listing:
    """Class folders with the splits and groups of the tables that agree with them.

    UserError where a table says other classes, and the layout is not declared.
    """
    prefix = f"{listing.root}/"[len(root.join("")) :].removeprefix("/") if listing.root else ""
    folder_of = {
        f"{prefix}{example.name}": listing.classes[example.label]
        for example in [*listing.train, *(listing.test or [])]
    }
    agreeing, unused = [], dict(others)
    for table in tables:
        if not table.labels or _agrees(source, root, table, folder_of):
            agreeing.append(table)
        elif table.sure and source.choices.layout is None:
            raise UserError(
                f"{source.where(root.path)}: class folders or {table.file} ({table.words()})? "
                "They do not agree; choose with --layout class-folders, split-folders or csv-table"
            )
        else:
            unused[table.file] = f"is not read: {table.words()}, which are not the folders"
    parts = [table.part for table in agreeing]
    by_name = len(agreeing) > 1 and None not in parts and len({*parts}) == len(parts)
    used = agreeing if by_name else [t for t in agreeing if t.split or t.group][:1]
    unused |= {
        t.file: f"is not read: {t.words()}"
        + (f"; it lists {t.part}: --ignore other tables to use it" if t.part else "")
        for t in agreeing
        if t not in used
    }
    if used:
        listing = _joined(source, root, listing, used, folder_of)
    return _noted(listing, _repeating(tables), unused)


def _agrees(source: Source, root: Folder, table: ImageTable, folder_of: dict[str, str]) -> bool:
    """Whether each class of the table is one of the folders, by whatever name."""
    candidates = [table.labels, *((column,) for column in table.contrary)]
    found = [read_rows(source, root, [replace(table, labels=labels)]) for labels in candidates]
    return any(
        one_to_one({(row.labels, folder_of[i]) for i, row in rows.images.items() if i in folder_of})
        for rows in found
    )


def _joined(
    source: Source,
    root: Folder,
    listing: Listing,
    tables: list[ImageTable],
    folder_of: dict[str, str],
) -> Listing:
    """The classes of the folders, the groups of tables, and their splits where folders say none."""
    said = read_rows(source, root, tables)
    train = len(listing.train)
    official = listing.test is not None
    by_table = not official and any(row.part for row in said.images.values())
    rows: dict[str, Row] = {}
    for number, (image, label) in enumerate(folder_of.items()):
        row = said.images.get(image, Row())
        part = ("train" if number < train else "test") if official else row.part
        if part is not None or not by_table:
            rows[image] = Row((label,), row.group, part)
    joined = listing_of(source, root, listing.layout, Rows(rows, said.broken))
    notes = [f"{t.file}: {t.words()}; --split-column none, --group-column none" for t in tables]
    left = len(folder_of) - len(rows)
    notes += [f"{counted(left, 'image')} in no split that the tables say, not read"] if left else []
    told = {name: text for name, text in _sources(tables).items() if name != "classes_from"}
    if not by_table:
        told.pop("splits_from", None)
    return replace(joined, notes=(*listing.notes, *joined.notes, *notes), **told)


def _without_twins(source: Source, listing: Listing) -> Listing:
    """Classes that differ in case, blanks or Unicode form only are one, if that is said."""
    keys = {
        name: BETWEEN_WORDS.sub(" ", unicodedata.normalize("NFKC", name).casefold().strip())
        for name in listing.classes
    }
    alike: dict[str, str] = {}
    for name, key in keys.items():
        twin = alike.setdefault(key, name)
        if twin != name and source.choices.ignore_case is None:
            raise UserError(
                f"{source.where(listing.root)}: classes {twin!r} and {name!r} differ in case or "
                "blanks only; --ignore-case makes them one class"
            )
    if len(alike) == len(listing.classes):
        return listing
    classes = tuple(alike.values())
    place = {name: classes.index(alike[key]) for name, key in keys.items()}

    def renumbered(examples: list[Example]) -> list[Example]:
        return [
            replace(
                example,
                label=place[listing.classes[example.label]],
                also=tuple(place[listing.classes[label]] for label in example.also),
            )
            for example in examples
        ]

    test = None if listing.test is None else renumbered(listing.test)
    return replace(listing, classes=classes, train=renumbered(listing.train), test=test)


_OF_FOLDERS = (*(name for name in CHOICES if name not in LABEL_CHOICES), "ignore_case")
SPLIT_FOLDERS = Reader(
    "split-folders",
    SPLIT_CLASS_IMAGE,
    lambda source, root: inner_root(root, hold_splits) is not None,
    _from_folders(split_folders, hold_splits),
    _OF_FOLDERS,
)
CLASS_FOLDERS = Reader(
    "class-folders",
    CLASS_IMAGE,
    lambda source, root: inner_root(root, hold_classes) is not None,
    _from_folders(class_folders, hold_classes),
    _OF_FOLDERS,
)
EUROSAT = Reader(
    "eurosat",
    "EuroSAT",
    lambda source, root: bool(eurosat_folders(root)),
    _from_folders(read_eurosat, lambda root: bool(eurosat_folders(root))),
    _OF_FOLDERS,
)
TABLE_OF_IMAGES = Reader("csv-table", LAYOUT, _is_table, _read_table, (*CHOICES, "ignore_case"))
#: What they read is understood as a whole: of these, the first that fits decides among all.
READERS = (SPLIT_FOLDERS, CLASS_FOLDERS, TABLE_OF_IMAGES)
