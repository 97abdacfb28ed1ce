"""Known tables of images: of medicine (HAM10000, SIIM-ISIC, APTOS, HPA) and of plants (Cassava)."""

from collections import Counter
from collections.abc import Sequence

from anynet_study.data.readers.image_tables import Columns, ImageFinder, read_images
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import checked_id, columns_of, read_table, read_texts
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

#: HAM10000's has no suffix, .csv or .tab, depending on where it was downloaded.
HAM_TABLES = ("ham10000_metadata", "ham10000_metadata.csv", "ham10000_metadata.tab")
SIIM_COLUMNS = Columns("image_name", "target", "patient_id")
SIIM_CLASSES = {"0": "benign", "1": "malignant"}
#: The table of the competitions of the others.
TRAIN_TABLE = "train.csv"
APTOS_COLUMNS = Columns("id_code", "diagnosis")
APTOS_IMAGES = "train_images"
CASSAVA_NAMES = "label_num_to_disease_map.json"
HPA_COLUMNS = ("Id", "Target")
HPA_STAINS = ("red", "green", "blue", "yellow")
HPA_CLASSES = 28


def _ham_table(root: Folder) -> str | None:
    return next((name for name in root.files if name.lower() in HAM_TABLES), None)


def _read_ham(source: Source, root: Folder) -> Listing:
    """Images in part folders, labels and lesions in a table: images of one lesion are one group.

    One download holds every image twice, in part folders of different case: the first is taken.
    """
    table = _ham_table(root)
    assert table is not None
    tables = {table: Columns("image_id", "dx", "lesion_id")}
    return read_images(source, root, "HAM10000", tables, ImageFinder(source, root, by_id=True))


def _has_columns(source: Source, root: Folder, table: str, columns: Sequence[str]) -> bool:
    return table in root.files and set(columns) <= set(columns_of(source, root.join(table)))


def _siim_table(source: Source, root: Folder) -> str | None:
    """A table with its columns, whatever its name."""
    tables = (name for name in root.files if name.lower().endswith(".csv"))
    needed = SIIM_COLUMNS.names()
    return next((name for name in tables if _has_columns(source, root, name, needed)), None)


def _read_siim(source: Source, root: Folder) -> Listing:
    """Photos of moles; images of one patient are one group. JPEG files are read, not DICOM ones."""
    table = _siim_table(source, root)
    assert table is not None
    where = source.where(root.join(table))

    def class_names(labels: Sequence[str]) -> dict[str, str]:
        unknown = set(labels) - set(SIIM_CLASSES)
        if unknown:
            raise UserError(f"{where}: target {min(unknown)!r}; legal: 0, 1")
        return SIIM_CLASSES

    finder = ImageFinder(source, root, by_id=True)
    return read_images(source, root, "SIIM-ISIC", {table: SIIM_COLUMNS}, finder, class_names)


def _is_aptos(source: Source, root: Folder) -> bool:
    """`train_images` beside a `train.csv` with these columns."""
    columns = APTOS_COLUMNS.names()
    return APTOS_IMAGES in root.folders and _has_columns(source, root, TRAIN_TABLE, columns)


def _read_aptos(source: Source, root: Folder) -> Listing:
    """Retina photos with the severity of retinopathy, 0 to 4; unlabelled ones are ignored."""
    finder = ImageFinder(source, root, root.folders[APTOS_IMAGES], by_id=True)
    return read_images(source, root, "APTOS 2019", {TRAIN_TABLE: APTOS_COLUMNS}, finder)


def _is_cassava(source: Source, root: Folder) -> bool:
    """`train.csv` beside `label_num_to_disease_map.json`."""
    return {TRAIN_TABLE, CASSAVA_NAMES} <= set(root.files)


def _read_cassava(source: Source, root: Folder) -> Listing:
    """Classes in the order of their numbers; the unlabelled test images are ignored."""
    names = read_texts(source, root.join(CASSAVA_NAMES))

    def class_names(labels: Sequence[str]) -> dict[str, str]:
        unknown = [label for label in labels if label not in names]
        if unknown:
            where = source.where(root.join(CASSAVA_NAMES))
            raise UserError(f"{where}: no name for label {unknown[0]!r} of {TRAIN_TABLE}")
        return {label: names[label] for label in labels}

    finder = ImageFinder(source, root, root.folders.get("train_images"), by_id=True)
    tables = {TRAIN_TABLE: Columns("image_id", "label")}
    return read_images(source, root, "Cassava", tables, finder, class_names)


def _read_hpa(source: Source, root: Folder) -> Listing:
    """Cells in four stains, one file each; several classes per image, by number, 0 to 27.

    The rarest class of an image is the one it is stratified by. Red, green and blue are the
    channels of an image, half of yellow is added to red and green.
    """
    where = source.where(root.join(TRAIN_TABLE))
    targets: dict[str, list[int]] = {}
    for row in read_table(source, root.join(TRAIN_TABLE), HPA_COLUMNS):
        name = checked_id(where, row["Id"])
        if name in targets:
            raise UserError(f"{where}: image id {name} occurs twice")
        targets[name] = _hpa_labels(where, name, row["Target"])
    files = [f"{name}_{stain}" for name in targets for stain in HPA_STAINS]
    finder = ImageFinder(source, root, root.folders.get("train"), by_id=True)
    paths = finder.require(files, where)
    images = Counter(label for labels in targets.values() for label in labels)
    present = sorted(images)
    examples = []
    for number, (name, labels) in enumerate(targets.items()):
        channels = tuple(paths[len(HPA_STAINS) * number :][: len(HPA_STAINS)])
        first, *others = sorted(labels, key=lambda label: (images[label], label))
        also = tuple(present.index(label) for label in sorted(others))
        examples.append(Example(name, present.index(first), also=also, channels=channels))
    classes = tuple(map(str, present))
    used = len(HPA_STAINS) * len(examples)
    return Listing.found("HPA", root, classes, examples, files=used, multi_label=True)


def _hpa_labels(where: str, name: str, target: str) -> list[int]:
    """The distinct numbers in `target`, which has spaces between them."""
    words = target.split()
    legal = {str(number) for number in range(HPA_CLASSES)}
    if not words or not set(words) <= legal:
        raise UserError(f"{where}: target {target!r} of {name}: legal are numbers 0 to 27")
    return list(map(int, dict.fromkeys(words)))


HAM10000 = Reader(
    "ham10000", "HAM10000", lambda source, root: _ham_table(root) is not None, _read_ham
)
SIIM_ISIC = Reader(
    "siim-isic", "SIIM-ISIC", lambda source, root: _siim_table(source, root) is not None, _read_siim
)
APTOS = Reader("aptos", "APTOS 2019", _is_aptos, _read_aptos)
CASSAVA = Reader("cassava", "Cassava", _is_cassava, _read_cassava)
HPA = Reader(
    "hpa",
    "HPA",
    lambda source, root: _has_columns(source, root, TRAIN_TABLE, HPA_COLUMNS),
    _read_hpa,
)
