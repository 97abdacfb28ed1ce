"""Known tables of images: HAM10000, SIIM-ISIC, Cassava and APTOS, HPA's stains, and CCT-20."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from anynet_study.core.errors import UserError
from anynet_study.core.sheets import SEVERAL
from anynet_study.data.readers.image_finder import ImageFinder
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import (
    checked_id,
    columns_of,
    read_table,
    read_texts,
)
from anynet_study.data.readers.table_rows import Row, Rows, listing_of
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder


def _has_columns(source: Source, root: Folder, table: str, columns: Sequence[str]) -> bool:
    """Tell whether `root` has the `table`, with these columns."""
    return table in root.files and set(columns) <= set(columns_of(source, root.join(table)))


@dataclass(frozen=True)
class KnownTable:
    """A layout: a table of a known name or of known columns, with ids of images beside it."""

    key: str
    layout: str
    #: What the table is called, whatever the case.
    table: str
    #: Those of the image, of the class and, if there is one, of the group.
    columns: tuple[str, ...]
    #: A file or folder that must be beside it, empty for none; None: the table is known by columns.
    beside: str | None = None
    #: Where the images are if there is such a folder; otherwise anywhere below.
    images: str = ""
    #: The class of each label, or a JSON file that says so; None: the label itself.
    classes: Mapping[str, str] | str | None = None

    def reader(self) -> Reader:
        """The layout as a reader."""
        return Reader(self.key, self.layout, lambda s, r: self.find(s, r) is not None, self.read)

    def find(self, source: Source, root: Folder) -> str | None:
        """The table in `root`."""
        if self.beside not in (None, "", *root.files, *root.folders):
            return None
        for name in root.files:
            if re.fullmatch(self.table, name, re.IGNORECASE) and (
                self.beside is not None or _has_columns(source, root, name, self.columns)
            ):
                return name
        return None

    def read(self, source: Source, root: Folder) -> Listing:
        """The images that the table lists; others, such as unlabelled ones, are ignored."""
        table = self.find(source, root)
        assert table is not None
        finder = ImageFinder(source, root, root.folders.get(self.images))
        classes = self.classes
        if isinstance(classes, str):
            classes = read_texts(source, root.join(classes))
        where = source.where(root.join(table))
        found = read_table(source, root.join(table), self.columns)
        images = finder.require([row[self.columns[0]] for row in found], where)
        said = ([row[column] for column in self.columns[1:]] for row in found)
        pairs = zip(images, said, strict=True)
        rows = _once(
            where, ((image, Row((label,), "".join(group))) for image, (label, *group) in pairs)
        )
        return listing_of(source, root, self.layout, rows, classes, table=table)


def _once(where: str, found: Iterable[tuple[str, Row]]) -> Rows:
    """The rows by image; UserError for an image that is listed twice, or has no class."""
    rows = Rows({}, [])
    for image, row in found:
        if image in rows.images:
            raise UserError(f"{where}: {image} is listed twice")
        if not any(row.labels):
            raise UserError(f"{where}: {image} has no class")
        rows.images[image] = row
    return rows


#: HAM10000's has no suffix, .csv or .tab, depending on where it was downloaded. One download holds
#: every image twice, in part folders of different case: the first is taken.
HAM10000 = KnownTable(
    "ham10000",
    "HAM10000",
    r"ham10000_metadata(\.csv|\.tab)?",
    ("image_id", "dx", "lesion_id"),
    beside="",
)
#: JPEG files are read, not DICOM ones.
SIIM_ISIC = KnownTable(
    "siim-isic",
    "SIIM-ISIC",
    r".*\.csv",
    ("image_name", "target", "patient_id"),
    classes={"0": "benign", "1": "malignant"},
)
CASSAVA_NAMES = "label_num_to_disease_map.json"
CASSAVA = KnownTable(
    "cassava",
    "Cassava",
    r"train\.csv",
    ("image_id", "label"),
    beside=CASSAVA_NAMES,
    images="train_images",
    classes=CASSAVA_NAMES,
)
#: Retina photos with the severity of retinopathy, 0 to 4.
APTOS = KnownTable(
    "aptos",
    "APTOS 2019",
    r"train\.csv",
    ("id_code", "diagnosis"),
    images="train_images",
)

HPA_LAYOUT, HPA_TABLE, HPA_COLUMNS = "HPA", "train.csv", ("Id", "Target")
HPA_STAINS = ("red", "green", "blue", "yellow")
HPA_CLASSES = {str(number): str(number) for number in range(28)}


def _read_hpa(source: Source, root: Folder) -> Listing:
    """Cells in four stains, one file each; several classes per image, by number, 0 to 27.

    Red, green and blue are the channels of an image, half of yellow is added to red and green.
    """
    where = source.where(root.join(HPA_TABLE))
    found = _once(
        where,
        (
            (checked_id(where, row["Id"]), Row(tuple(dict.fromkeys(row["Target"].split()))))
            for row in read_table(source, root.join(HPA_TABLE), HPA_COLUMNS)
        ),
    )
    files = [f"{name}_{stain}" for name in found.images for stain in HPA_STAINS]
    finder = ImageFinder(source, root, root.folders.get("train"))
    paths = iter(finder.require(files, where))
    for name, row in found.images.items():
        channels = tuple(islice(paths, len(HPA_STAINS)))
        found.images[name] = replace(row, more={"channels": channels})
    own = {"files": len(files), "multi_label": True}
    return listing_of(source, root, HPA_LAYOUT, found, HPA_CLASSES, table=HPA_TABLE, **own)


HPA = Reader(
    "hpa",
    HPA_LAYOUT,
    lambda source, root: _has_columns(source, root, HPA_TABLE, HPA_COLUMNS),
    _read_hpa,
)

#: Camera traps: COCO's annotations of five official parts.
CCT_LAYOUT, ANNOTATIONS, CCT_TRAIN, EMPTY = "CCT-20", "_annotations.json", "train", "empty"
#: The test photos of the places that are trained on (as paper 3 uses), and those of other places.
CCT_TESTS = ("cis_test", "trans_test", "cis_val", "trans_val")


def _read_cct20(source: Source, root: Folder) -> Listing:
    """The official training photos, and one of the test parts: cis_test unless chosen otherwise.

    Left out, with a note: photos of nothing, of several classes, and of a class that is not
    trained on.
    """
    chosen = source.choices.test_part or CCT_TESTS[0]
    if chosen not in CCT_TESTS:
        raise UserError(f"--test-part {chosen!r}: legal: {', '.join(CCT_TESTS)}")
    classes: dict[str, int] = {}
    finder = ImageFinder(source, root)
    found, listed = [], 0
    for part in (CCT_TRAIN, chosen):
        path = root.find(f"{part}{ANNOTATIONS}")
        if path is None:
            raise UserError(f"{source.where(root.path)}: no {part}{ANNOTATIONS}")
        labels: dict[str, str] = {}
        rows = read_table(source, path, ("file_name", "category"))
        for row in rows:
            kinds = [kind for kind in row["category"].split(SEVERAL) if kind not in ("", EMPTY)]
            name = checked_id(source.where(path), row["file_name"])
            labels |= {name: kinds[0]} if len(kinds) == 1 else {}
        if part == CCT_TRAIN:
            classes = {name: number for number, name in enumerate(sorted({*labels.values()}))}
        labels = {name: kind for name, kind in labels.items() if kind in classes}
        paths = finder.require([*labels], source.where(path))
        pairs = zip(paths, labels.values(), strict=True)
        found.append([Example(image, classes[kind]) for image, kind in pairs])
        listed += len(rows) - len(labels)
    notes = (
        f"test images are of the part {chosen}; --test-part takes {', '.join(CCT_TESTS)}",
        f"left out: {listed} photos that are empty or not of one trained class",
    )
    return Listing.found(CCT_LAYOUT, root, tuple(classes), found[0], found[1], notes=notes)


CCT20 = Reader(
    "cct20",
    CCT_LAYOUT,
    lambda _, root: all(root.find(f"{n}{ANNOTATIONS}") for n in (CCT_TRAIN, CCT_TESTS[0])),
    _read_cct20,
    ("test_part",),
)
#: All of them; the key of each is the name of its dataset in the catalogue.
READERS = (*(table.reader() for table in (HAM10000, SIIM_ISIC, CASSAVA, APTOS)), HPA, CCT20)
