"""Tables of images and classes, with the images somewhere below them: known ones and anybody's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import checked_id, columns_of, read_table
from anynet_study.data.source.source import Choices, Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "table of images"
CHOICES = ("table", "image_column", "label_column", "group_column")
SUFFIXES = (".csv", ".tsv")
#: Names of columns in lower case, the surest first.
IMAGE = (
    *("image_path", "img_path", "file_path", "filepath", "path", "file_name", "filename", "file"),
    *("image_id", "image_name", "image", "img", "id_code", "id", "name"),
)
LABEL = (
    *("label", "class", "class_name", "category", "target", "diagnosis", "dx", "species"),
    "labels",
)
GROUP = ("group", "group_id", "patient_id", "patient", "lesion_id", "subject_id", "subject")
SPLIT = ("split", "subset", "set", "partition")
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


@dataclass(frozen=True)
class Columns:
    """The columns of a table of images; None: it has no such column."""

    image: str
    label: str
    group: str | None = None
    split: str | None = None

    def names(self) -> tuple[str, ...]:
        """Those that there are; a column's name may be empty."""
        names = (self.image, self.label, self.group, self.split)
        return tuple(name for name in names if name is not None)

    def words(self) -> str:
        """For the user."""
        told = [f"images in column {self.image!r}", f"classes in {self.label!r}"]
        told += [f"groups in {self.group!r}"] if self.group else []
        told += [f"splits in {self.split!r}"] if self.split else []
        return ", ".join(told)


class ImageFinder:
    """The images below a folder by path, by name, and by either without its suffix."""

    def __init__(
        self, source: Source, root: Folder, folder: Folder | None = None, by_id: bool = False
    ) -> None:
        """`folder`: where the images are, by default `root`, which their paths start from.

        `by_id`: a table has ids, not paths; of several images of one name the first in order is
        taken, as some downloads hold images twice.
        """
        folder = folder or root
        self._where = source.where(folder.path)
        self._by_id = by_id
        self._paths: dict[str, str] = {}
        self._several: set[str] = set()
        for path in folder.images(root):
            image = PurePosixPath(path)
            for key in {str(image), str(image.with_suffix("")), image.name, image.stem}:
                if self._paths.setdefault(key, str(image)) != str(image):
                    self._several.add(key)

    def require(self, values: Sequence[str], where: str) -> list[str]:
        """The path from the root of the one image that each of `values` means.

        UserError, naming the table `where`, for a value that is missing, that could be two
        images, or that leads elsewhere.
        """
        keys = [self._checked(value, where) for value in values]
        missing = [value for value, key in zip(values, keys, strict=True) if key not in self._paths]
        if missing:
            raise UserError(
                f"{where}: {len(missing)} of its {len(values)} images are not below "
                f"{self._where}, the first is {missing[0]}"
            )
        return [self._paths[key] for key in keys]

    def _checked(self, value: str, where: str) -> str:
        if self._by_id:
            return checked_id(where, value)
        path = PurePosixPath(value)
        if not value or path.is_absolute() or ".." in path.parts or set(value) & set("\\\0"):
            raise UserError(f"{where}: {value!r} is not an image of this folder")
        if str(path) in self._several:
            raise UserError(f"{where}: there is more than one image {value!r} below the folder")
        return str(path)


def read_images(
    source: Source,
    root: Folder,
    layout: str,
    tables: Mapping[str, Columns],
    finder: ImageFinder,
    classes: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> Listing:
    """The images that `tables` list: by file, a path from `root`, the columns.

    Tables called train and test, or a column of splits, make the splits; a validation part is
    the test split where there is no other. `classes`: the class of each label, by default itself.
    UserError for an image that is missing, listed twice or has no class.
    """
    parts: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for name, columns in tables.items():
        where = source.where(root.join(name))
        rows = read_table(source, root.join(name), columns.names())
        images = finder.require([row[columns.image] for row in rows], where)
        for row, image in zip(rows, images, strict=True):
            if any(image in part for part in parts.values()):
                raise UserError(f"{where}: {image} is listed twice")
            if not row[columns.label]:
                raise UserError(f"{where}: {image} has no class")
            group = row[columns.group] if columns.group else ""
            parts[_part(name, row, columns, len(tables))][image] = (row[columns.label], group)
    label_of = [label for part in parts.values() for label, _ in part.values()]
    labels = _in_order(set(label_of))
    names = {label: label for label in labels} if classes is None else classes
    unknown = next((label for label in labels if label not in names), None)
    if unknown is not None:
        told = f"no name for label {unknown!r}; legal: {', '.join(names)}"
        raise UserError(f"{source.where(root.join(next(iter(tables))))}: {told}")
    found = tuple(dict.fromkeys(names[label] for label in labels))
    number = {label: found.index(names[label]) for label in labels}
    examples = {
        part: [Example(image, number[label], group) for image, (label, group) in images.items()]
        for part, images in parts.items()
    }
    train = examples.get("train", [])
    test = examples.get("test") or examples.get("validation")
    if not train:
        raise UserError(f"{source.where(root.path)}: the table has no training image")
    return Listing.found(layout, root, found, train, test, notes=notes)


def _in_order(labels: set[str]) -> list[str]:
    """Numbers in their order, others as text."""
    numeric = all(label.isascii() and label.isdigit() for label in labels)
    return sorted(labels, key=int if numeric else str)


def _part(name: str, row: dict[str, str], columns: Columns, tables: int) -> str:
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


def _is_table(source: Source, root: Folder) -> bool:
    """A CSV or TSV file whose columns of images and classes can be told or are chosen; images."""
    if not root.holds_images() or not _names(root):
        return False
    heeded = bool(source.choices.chosen().keys() & set(CHOICES))
    return heeded or bool(_tables(source, root))


def _read_anybodys(source: Source, root: Folder) -> Listing:
    """The images that the table names, by path, or by name with or without suffix."""
    tables = _tables(source, root)
    if not tables:
        raise _no_such_table(source, root)
    parts = {PARTS.get(PurePosixPath(name).stem.lower()) for name in tables}
    if len(tables) > 1 and (None in parts or len(parts) < len(tables)):
        raise UserError(
            f"{source.where(root.path)}: {', '.join(tables)} could all be the table of images; "
            "choose one with --table"
        )
    notes = tuple(
        f"{name}: {columns.words()}; --image-column and so on choose others"
        for name, columns in tables.items()
    )
    return read_images(source, root, LAYOUT, tables, ImageFinder(source, root), notes=notes)


def _tables(source: Source, root: Folder) -> dict[str, Columns]:
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
    return [name for name in root.files if name.lower().endswith(SUFFIXES) or name == chosen]


def has_columns(source: Source, root: Folder, table: str, columns: Sequence[str]) -> bool:
    """Whether `root` has the `table`, with these columns."""
    return table in root.files and set(columns) <= set(columns_of(source, root.join(table)))


def guess_columns(header: Sequence[str], choices: Choices) -> Columns | None:
    """The columns of a table with this `header`; None where those needed cannot be told.

    Of two columns one of which holds the images, the other holds the labels. A chosen column
    must be there.
    """
    image = _column(header, choices.image_column, IMAGE)
    label = _column(header, choices.label_column, LABEL)
    group = _column(header, choices.group_column, GROUP)
    if group is None and choices.group_column is not None:
        return None
    if label is None and choices.label_column is None and len(header) == 2 and image is not None:
        label = next(name for name in header if name != image)
    if image is None or label is None or image == label:
        return None
    return Columns(image, label, group, _column(header, None, SPLIT))


def _column(header: Sequence[str], chosen: str | None, names: tuple[str, ...]) -> str | None:
    if chosen is not None:
        return chosen if chosen in header else None
    by_name = {name.strip().lower(): name for name in reversed(header)}
    return next((by_name[name] for name in names if name in by_name), None)


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


TABLE_OF_IMAGES = Reader("csv-table", LAYOUT, _is_table, _read_anybodys, CHOICES)
