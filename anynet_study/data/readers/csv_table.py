"""Somebody's table of images and classes, with the images somewhere below it."""

from collections import defaultdict
from pathlib import PurePosixPath

from anynet_study.data.readers.csv_columns import TableColumns, guess_columns
from anynet_study.data.readers.image_finder import ImageFinder
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.tables import columns_of, read_table
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "table of images"
CHOICES = ("table", "image_column", "label_column", "group_column")
TABLES = (".csv", ".tsv")
#: What the values of a column of splits, or names of tables, mean.
PARTS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
}


def recognises(source: Source, root: Folder) -> bool:
    """A CSV or TSV file whose columns of images and classes can be told or are chosen; images."""
    if not root.holds_images() or not _names(root):
        return False
    return _heeded(source) or bool(_tables(source, root))


def read(source: Source, root: Folder) -> Listing:
    """The images that the table names, by path, or by name with or without suffix.

    Tables called train and test, or a column of splits, make the splits; a validation part is
    the test split where there is no other. UserError for an image that is missing, that two
    files could be, or whose path leads elsewhere.
    """
    tables = _chosen_tables(source, root)
    finder = ImageFinder(source, root)
    parts: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    notes = []
    for name, columns in tables.items():
        rows = read_table(source, root.join(name), columns.names())
        notes.append(f"{name}: {columns.words()}; --image-column and so on choose others")
        for row in rows:
            image = finder.find(name, row[columns.image])
            if any(image in part for part in parts.values()):
                raise UserError(f"{source.where(root.join(name))}: {image} is listed twice")
            group = row[columns.group] if columns.group else ""
            parts[_part(name, row, columns, len(tables))][image] = (row[columns.label], group)
    return _listing(source, root, parts, tuple(notes))


def _listing(
    source: Source,
    root: Folder,
    parts: dict[str, dict[str, tuple[str, str]]],
    notes: tuple[str, ...],
) -> Listing:
    labels = {label for part in parts.values() for label, _ in part.values()}
    if "" in labels:
        raise UserError(f"{source.where(root.path)}: an image of the table has no class")
    classes = tuple(sorted(labels, key=_in_order(labels)))
    number = {label: place for place, label in enumerate(classes)}
    examples = {
        part: [
            Example(image, number[label], group) for image, (label, group) in sorted(found.items())
        ]
        for part, found in parts.items()
    }
    train = examples.get("train", [])
    test = examples.get("test") or examples.get("validation")
    if not train:
        raise UserError(f"{source.where(root.path)}: the table has no training image")
    ignored = root.count() - len(train) - len(test or [])
    return Listing(LAYOUT, root.path, classes, train, test, ignored, notes=notes)


def _in_order(labels: set[str]) -> "type[str] | type[int]":
    """Numbers in their order, anything else as text."""
    return int if all(label.isascii() and label.isdigit() for label in labels) else str


def _part(name: str, row: dict[str, str], columns: TableColumns, tables: int) -> str:
    if tables > 1:
        return PARTS[PurePosixPath(name).stem.lower()]
    if columns.split is None:
        return "train"
    value = row[columns.split].strip().lower()
    if value not in PARTS:
        raise UserError(
            f"{name}: column {columns.split!r} says {value!r}; legal: {', '.join(PARTS)}"
        )
    return PARTS[value]


def _chosen_tables(source: Source, root: Folder) -> dict[str, TableColumns]:
    """The one table, or those called train and test; UserError where they are any others."""
    tables = _tables(source, root)
    if not tables:
        raise _no_such_table(source, root)
    parts = {PARTS.get(PurePosixPath(name).stem.lower()) for name in tables}
    if len(tables) > 1 and (None in parts or len(parts) < len(tables)):
        raise UserError(
            f"{source.where(root.path)}: {', '.join(tables)} could all be the table of images; "
            "choose one with --table"
        )
    return tables


def _tables(source: Source, root: Folder) -> dict[str, TableColumns]:
    """The tables whose columns can be told, by name."""
    chosen = source.choices.table
    guessed = {
        name: guess_columns(columns_of(source, root.join(name)), source.choices)
        for name in _names(root, chosen)
        if chosen in (None, name)
    }
    return {name: columns for name, columns in guessed.items() if columns is not None}


def _names(root: Folder, chosen: str | None = None) -> list[str]:
    """Files that are called like tables; one that is chosen may be called anything."""
    return [name for name in root.files if name.lower().endswith(TABLES) or name == chosen]


def _heeded(source: Source) -> bool:
    """Whether something was chosen that only tables heed."""
    return bool(source.choices.chosen().keys() & set(CHOICES))


def _no_such_table(source: Source, root: Folder) -> UserError:
    """The error where no table has what was chosen."""
    chosen = source.choices.chosen()
    options = [f"--{name.replace('_', '-')} {chosen[name]!r}" for name in CHOICES if name in chosen]
    there = [
        f"{name} has {', '.join(columns_of(source, root.join(name)))}"
        for name in _names(root, source.choices.table)
    ]
    where = source.where(root.path)
    return UserError(f"{where}: no table for {', '.join(options)}: {'; '.join(there)}")
