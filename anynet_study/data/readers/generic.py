"""Anybody's images: class folders, split folders and tables, understood together or refused.

Classes come from folders or from a table; a table beside class folders may say splits and groups.
Where both could say the classes and do not agree, nothing is guessed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from shlex import quote
from typing import Any

from anynet_study.core.errors import UserError, counted, some_of
from anynet_study.core.sheets import normal_form
from anynet_study.data.readers import names
from anynet_study.data.readers.folders import (
    CLASS_IMAGE,
    SPLIT_CLASS_IMAGE,
    class_folders,
    hold_classes,
    hold_splits,
    inner_root,
    plain_name,
    require_labels,
    split_folders,
    split_parts,
)
from anynet_study.data.readers.image_tables import (
    CHOICES,
    LABEL_CHOICES,
    LAYOUT,
    ImageTable,
    find_tables,
    form_of,
    one_to_one,
)
from anynet_study.data.readers.listing import Listing, Reader
from anynet_study.data.readers.table_rows import Row, Rows, listing_of, read_rows
from anynet_study.data.source import parquet
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

#: What comes before the number of an image in its name.
BEFORE_NUMBER = re.compile(r"(.*[^\W\d_])[\W_]*\d[\W\d_]*")
#: Columns named in a message.
SHOWN = 8


def _is_table(source: Source, root: Folder) -> bool:
    """Images, and a table with their classes, or one that is chosen."""
    chosen = bool(source.choices.chosen().keys() & set(CHOICES))
    return root.holds_images() and (
        chosen or any(table.labels for table in find_tables(source, root)[0])
    )


def _from_folders(
    read: Callable[[Source, Folder], Listing], fits: Callable[[Folder], bool]
) -> Callable[[Source, Folder], Listing]:
    """Reads the folder that fits, and the tables anywhere below the root."""

    def reader(source: Source, root: Folder) -> Listing:
        told = source.choices.layout is not None
        inner = inner_root(root, fits) or root
        doubt = None if told else _doubt(source, inner)
        tables, others = find_tables(source, root)
        if doubt is None and not told:
            doubt = _places(source, root, inner, tables, others)
        if doubt is None:
            found = _beside_folders(source, root, read(source, inner), tables, others)
            if found.test is None and fits is hold_splits:
                require_labels(source, inner)
            return found
        if any(table.labels for table in tables):
            return _from_tables(source, root, tables, others)
        raise UserError("; ".join([doubt, tables_told(tables, others), *classes_in_names(inner)]))

    return reader


def _read_table(source: Source, root: Folder) -> Listing:
    """The images that tables list with their classes."""
    return _from_tables(source, root, *find_tables(source, root))


def _from_tables(
    source: Source, root: Folder, tables: list[ImageTable], others: dict[str, str]
) -> Listing:
    """List the images by the tables and the other files that `find_tables` found."""
    labelled = [table for table in tables if table.sure and table.labels]
    labelled = labelled or [table for table in tables if table.labels]
    if unclear := next((table for table in labelled if table.contrary), None):
        raise UserError(
            f"{source.where(root.join(unclear.file))}: classes could be in column "
            f"{' or '.join(map(repr, (*unclear.labels, *unclear.contrary)))}, which do not agree; "
            "choose with --label-column"
        )
    if not labelled:
        raise UserError(f"{source.where(root.path)}: {tables_told(tables, others)}")
    parts = {table.part for table in labelled}
    folders = {PurePosixPath(table.file).parent for table in labelled}
    one = len({table.form for table in labelled}) == 1 and len(folders) == len(labelled)
    if not one and (None in parts or len(parts) < len(labelled)):
        # Of one class alone: a sample of what is to be submitted.
        alone = [t for t in labelled if len({*zip(*map(t.column, t.labels), strict=True)}) < 2]
        if len(labelled) - len(alone) == 1 and alone:
            others |= {table.file: "is not read: one class alone" for table in alone}
            return _from_tables(source, root, [t for t in tables if t not in alone], others)
        files = ", ".join(table.file for table in labelled)
        raise UserError(
            f"{source.where(root.path)}: {files} could all be the table of images; choose one "
            "with --table, or leave others out with --ignore"
        )
    rows = read_rows(source, root, labelled)
    told = _sources(labelled)
    if source.choices.split_column is None and "splits_from" not in told:
        parted = _parts_of_folders(rows)
        told |= {} if parted is rows else {"splits_from": "the folders of the images"}
        rows = parted
    listing = listing_of(source, root, LAYOUT, rows, **told)
    notes = [
        f"{table.file}: {table.words()}; options such as --image-column NAME choose others"
        for table in labelled
        if table.file in _alike(t.file for t in labelled)
    ]
    unlisted = len(root.images()) - len(rows.images) - rows.left
    notes += [f"{counted(rows.left, 'image')} left out, as declared"] if rows.left else []
    notes += [f"{counted(unlisted, 'image')} in no table, so without a class"] if unlisted else []
    listing = replace(listing, notes=(*listing.notes, *notes))
    further = [table for table in tables if table not in labelled]
    return _with_tables(source, root, listing, rows, further, others, _repeating(labelled))


def _alike(files: Iterable[str]) -> dict[str, str]:
    """The first of the files that differ in numbers alone, and what these are called together."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        found[form_of(file)].append(file)
    return {
        file: f"{file} and {len(more)} alike" if more else file for file, *more in found.values()
    }


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
    """Return where classes, splits and groups come from, for the account."""
    files = ", ".join(_alike(table.file for table in tables).values())
    splits = next((t.split for t in tables if t.split), None)
    groups = next((t.group for t in tables if t.group), None)
    names_of = " and ".join(dict.fromkeys(name for table in tables for name in table.labels))
    told: dict[str, Any] = {"classes_from": f"column {names_of} of {files}"} if names_of else {}
    if splits is not None:
        told["splits_from"] = f"column {splits} of {files}"
    elif len({table.part for table in tables} - {None}) > 1:
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


def tables_told(tables: list[ImageTable], others: Mapping[str, str]) -> str:
    """Return what the tables say that are there, and how to say more."""
    told = [f"{t.file} has {', '.join(t.names)} ({t.words()})" for t in tables]
    told += [f"{file} {why}" for file, why in others.items()]
    how = "--label-column NAME says which column holds the classes, --image-column NAME the images"
    told += [how] if tables or others else []
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
            shown = ", ".join(some_of(wrong, SHOWN))
            says = "its name says" if len(wrong) == 1 else "their names say"
            out = f", --ignore {quote(wrong[0])} leaves one out" * (len(wrong) < len(called))
            how = "; --layout class-folders (or split-folders) takes folders for classes whatever "
            how = f"{how}their names{out}" * (len(called) > 1)
            return (
                f"{source.where(root.path)}: folder {shown}: {says} part of a dataset, not a "
                f"class, so its images have no labels{how}"
            )
        for folder in folders:
            if reason := _inner_doubt(folder, {*called}):
                return f"{source.where(folder.path)}: {reason}"
    return None


def _places(
    source: Source, root: Folder, inner: Folder, tables: list[ImageTable], others: Mapping[str, str]
) -> str | None:
    """Why class folders may be places, visits and the like: a column of ids of a table says so."""
    if hold_splits(inner):
        return None
    called = {*inner.folders}
    for table in tables:
        for name in table.names:
            is_id = names.ID_WORDS | {"deployment", "station", "plot", "transect"}
            words = {*normal_form(name).split("_")}
            if name in table.labels or name == table.image or not words & is_id:
                continue
            if words & {*names.LABEL} or not called <= {*table.column(name)}:
                continue
            return (
                f"{source.where(inner.path)}: folders {', '.join(some_of(called, SHOWN))} are what "
                f"column {name} of {table.file} says, so they may be no classes; --layout "
                "class-folders takes them for such; else write the class of each image in a column "
                "label of that table"
            )
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


def _beside_folders(
    source: Source,
    root: Folder,
    listing: Listing,
    tables: list[ImageTable],
    others: dict[str, str],
) -> Listing:
    """Class folders with what the tables that agree with them say.

    UserError where a table says other classes, and the layout is not declared.
    """
    prefix = f"{listing.root}/"[len(root.join("")) :].removeprefix("/") if listing.root else ""
    splits = (("train" if listing.test else None, listing.train), ("test", listing.test or []))
    rows = Rows({}, [])
    for part, examples in splits:
        for example in examples:
            row = Row((listing.classes[example.label],), "", part)
            rows.images[f"{prefix}{example.name}"] = row
    further, unused = [], dict(others)
    for table in tables:
        if more := _of_other_images(source, root, table, rows):
            for image, row in rows.images.items():
                rows.images[image] = replace(row, part=row.part or "train")
            rows.images |= more
            note = f"{table.file}: classes of {counted(len(more), 'image')} without class folders"
            told: dict[str, Any] = {"notes": (note,), "splits_from": "folders"}
            told["classes_from"] = f"folders, and {table.file}"
            listing = listing_of(source, root, listing.layout, rows, **told)
        elif not (table.sure and table.labels) or _agrees(source, root, table, rows):
            further.append(table)
        elif source.choices.layout is None:
            raise UserError(
                f"{source.where(root.path)}: class folders or {table.file} ({table.words()})? "
                "They do not agree; choose with --layout class-folders, split-folders or csv-table"
            )
        else:
            unused[table.file] = f"is not read: {table.words()}, which are not the folders"
    return _with_tables(source, root, listing, rows, further, unused, _repeating(tables))


def _of_other_images(source: Source, root: Folder, table: ImageTable, rows: Rows) -> dict[str, Row]:
    """Images of a part that are in no class folder, if a column says a class folder for each.

    That is one known by its name, or any of a table that lies in the folder of the part.
    """
    inside = any(map(names.part_of, PurePosixPath(table.file).parts[:-1]))
    columns = table.labels if table.sure and table.labels else table.names if inside else ()
    classes = {label for row in rows.images.values() for label in row.labels}
    said = {name for name in columns if {*table.column(name)} <= classes} - {table.image}
    if not said or table.part is None:
        return {}
    found = read_rows(source, root, [replace(table, labels=(min(said),), split=None)]).images
    others = {image: row for image, row in found.items() if image not in rows.images}
    return {image: replace(row, part=table.part) for image, row in others.items()}


def _agrees(source: Source, root: Folder, table: ImageTable, rows: Rows) -> bool:
    """Tell whether each class of the table is one of the folders, by whatever name."""
    candidates = [table.labels, *((column,) for column in table.contrary)]
    found = [read_rows(source, root, [replace(table, labels=labels)]) for labels in candidates]
    return any(
        one_to_one(
            {(r.labels, rows.images[i].labels) for i, r in said.images.items() if i in rows.images}
        )
        for said in found
    )


def _with_tables(
    source: Source,
    root: Folder,
    listing: Listing,
    rows: Rows,
    tables: list[ImageTable],
    unused: dict[str, str],
    notes: list[str],
) -> Listing:
    """The listing, which has these rows, with the splits and groups that further tables say.

    Splits are those of the listing itself, or of tables of the parts, or of a column of a table.
    """
    once = _without_twins(source, listing, rows)
    plain = [replace(table, labels=()) for table in tables]
    parts = [table.part for table in plain if table.part]
    lists = [t for t in plain if t.part] if len({*parts}) == len(parts) > 1 else []
    official = any(row.part for row in rows.images.values())
    declined = official or source.choices.split_column == names.NONE
    splits = [] if declined else lists or [table for table in plain if table.split][:1]
    grouped = any(row.group for row in rows.images.values())
    told = lists if any(table.group for table in lists) else plain
    groups = [] if grouped else [table for table in told if table.group]
    groups = groups if groups == lists else groups[:1]
    used = [*splits, *(table for table in groups if table not in splits)]
    files = {table.file for table in used}
    unused |= {
        t.file: f"is not read: {t.words()}"
        + (f"; it lists {t.part}: --ignore other tables to use it" if t.part else "")
        for t in tables
        if t.file not in files
    }
    if used or once is not rows:
        listing = _joined(source, root, listing, once, splits, groups)
        notes = [
            *(f"{t.file}: {t.words()}; --split-column none, --group-column none" for t in used),
            *notes,
        ]
    shown = {told: unused[file] for file, told in _alike(unused).items()}
    notes += [f"{file} {why}" for file, why in shown.items()]
    return replace(listing, notes=(*listing.notes, *notes), tables=shown)


def _joined(
    source: Source,
    root: Folder,
    listing: Listing,
    rows: Rows,
    splits: list[ImageTable],
    groups: list[ImageTable],
) -> Listing:
    """The rows with the splits of some tables and the groups of some."""
    in_parts = read_rows(source, root, splits)
    in_groups = in_parts if groups == splits else read_rows(source, root, groups)
    images: dict[str, Row] = {}
    for image, row in rows.images.items():
        part = in_parts.images.get(image, Row()).part if splits else row.part
        if part is not None or not splits:
            group = row.group or in_groups.images.get(image, Row()).group
            images[image] = replace(row, group=group, part=part)
    broken = {
        unread.image: unread for unread in (*in_groups.broken, *in_parts.broken, *rows.broken)
    }
    joined = listing_of(source, root, listing.layout, Rows(images, [*broken.values()]))
    left = len(rows.images) - len(images)
    notes = [f"{counted(left, 'image')} in no split that the tables say, not read"] if left else []
    own, told = _sources(groups), _sources(splits)
    return replace(
        joined,
        notes=(*listing.notes, *joined.notes, *notes),
        classes_from=listing.classes_from,
        splits_from=told.get("splits_from", listing.splits_from),
        groups_from=own.get("groups_from", listing.groups_from),
    )


def _without_twins(source: Source, listing: Listing, rows: Rows) -> Rows:
    """Classes that differ in case, blanks or Unicode form only are one, if that is said."""
    first: dict[str, str] = {}
    called = {}
    for name in listing.classes:
        called[name] = first.setdefault(plain_name(name), name)
        if called[name] != name and source.choices.ignore_case is None:
            raise UserError(
                f"{source.where(listing.root)}: classes {called[name]!r} and {name!r} differ in "
                "case or blanks only; --ignore-case makes them one class"
            )
    if len(first) == len(listing.classes):
        return rows
    labels = {image: (called[label] for label in row.labels) for image, row in rows.images.items()}
    return replace(
        rows,
        images={
            image: replace(row, labels=tuple(dict.fromkeys(labels[image])))
            for image, row in rows.images.items()
        },
    )


def _may_hold_classes(root: Folder) -> bool:
    """Tell whether folders may be classes if that is said: several with images, at any depth."""
    return sum(folder.holds_images() for folder in root.folders.values()) > 1


def deeper(root: Folder) -> list[str]:
    """Return what to try where images lie deeper than in class folders."""
    holding = [folder for folder in root.folders.values() if folder.holds_images()]
    if len(holding) < 2:
        return []
    inner = [{*_below_images(folder)} for folder in holding]
    shared = sorted(set.intersection(*inner))
    if len(shared) > 1:
        return [
            f"{', '.join(folder.name for folder in holding[:SHOWN])} hold the same folders "
            f"({', '.join(shared[:SHOWN])}): if these are the classes, read one of them, or write "
            "a table of images and classes; --layout class-folders takes the outer folders for "
            "classes"
        ]
    if names.no_classes([folder.name for folder in holding]):
        return []
    return ["--layout class-folders takes these for classes, and folders in them for groups"]


def classes_in_names(root: Folder) -> list[str]:
    """Return what to do where names of images begin alike, as cat_001.jpg does: nothing else may
    say their classes.
    """
    stems = [PurePosixPath(path).stem for path in root.images()]
    begun = Counter(match[1] for stem in stems if (match := BEFORE_NUMBER.fullmatch(stem)))
    likely = {name: count for name, count in begun.items() if count > 1}
    if len(likely) < 2 or 2 * sum(likely.values()) < len(stems):
        return []
    told = ", ".join(some_of(f"{name} ({count})" for name, count in likely.items()))
    return [
        f"names of images begin with {told}: if these are their classes, move the images of each "
        "into a folder of that name, or write a table with columns image and label beside them"
    ]


def _below_images(folder: Folder) -> list[str]:
    """The folders in a folder, also where one of no name of its own is between."""
    inner = [name for name, inside in folder.folders.items() if inside.holds_images()]
    if len(inner) == 1 and names.no_classes(inner):
        return _below_images(folder.folders[inner[0]])
    return inner


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
    lambda source, root: (
        inner_root(root, hold_classes) is not None
        or (source.choices.layout is not None and _may_hold_classes(root))
    ),
    _from_folders(class_folders, hold_classes),
    _OF_FOLDERS,
)
TABLE_OF_IMAGES = Reader("csv-table", LAYOUT, _is_table, _read_table, (*CHOICES, "ignore_case"))
#: What they read is understood as a whole: of these, the first that fits decides among all.
READERS = (SPLIT_FOLDERS, CLASS_FOLDERS, TABLE_OF_IMAGES)
