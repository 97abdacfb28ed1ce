"""Test sets for networks trained on ImageNet: ImageNetV2, -Sketch, -A, -R and ObjectNet."""

import re

from anynet_study.core.errors import UserError
from anynet_study.data.packed.meta import read_meta
from anynet_study.data.packed.root import dataset_folder
from anynet_study.data.readers.folders import read_classes
from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import read_json, read_texts
from anynet_study.data.source.encoded import Inside
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

V2_LAYOUT, WNID_LAYOUT = "ImageNetV2", "ImageNet shift (wnid folders, test only)"
OBJECTNET_LAYOUT = "ObjectNet"
V2_FOLDER = re.compile(r"0|[1-9]\d{0,2}")
V2_FOLDERS = {str(number) for number in range(1000)}
WNID = re.compile(r"n\d{8}")
IMAGES, MAPPINGS = "images", "mappings"
#: By folder the label; by label the names of ImageNet's classes, '; ' between them.
FOLDER_LABELS, IMAGENET_NAMES = "folder_to_objectnet_label.json", "objectnet_to_imagenet_1k.json"
#: A class's name on every line; by ImageNet's class number the line, both from 0.
LINES, LINE_NUMBERS = "imagenet_to_label_2012_v2", "pytorch_to_imagenet_2012_id.json"
LINES_BYTES = 1 << 20
#: ObjectNet's photos have a red frame so wide, in pixels, which marks them as test images.
BORDER = 2


def _reference_classes(source: Source, layout: str) -> tuple[str, ...]:
    """The classes, in order, of the packed dataset that `--classes-of` names; imagenet by default.

    UserError where it is not there.
    """
    name = source.choices.classes_of or "imagenet"
    path = dataset_folder(name) / "meta.json"
    if not path.is_file():
        raise UserError(
            f"{layout} numbers its classes as ImageNet does, and there is no dataset {name!r}: "
            f"add ImageNet first, or say with --classes-of which dataset it is"
        )
    return read_meta(path).classes


def _is_v2(source: Source, root: Folder) -> bool:
    """Folders `0` to `999`; fewer only where the folder's name says ImageNetV2."""
    if "imagenetv2" in root.name.lower():
        return len(root.folders) >= 2 and all(map(V2_FOLDER.fullmatch, root.folders))
    return root.folders.keys() == V2_FOLDERS


def _read_v2(source: Source, root: Folder) -> Listing:
    """Test images only. Folder k holds class k, counted as a number: 10 comes after 9."""
    classes = _reference_classes(source, V2_LAYOUT)
    if {int(name) for name in root.folders} != set(range(len(classes))):
        raise UserError(
            f"{source.where(root.path)}: {len(root.folders)} numbered folders, but the dataset "
            f"that numbers the classes has {len(classes)}; name another with --classes-of"
        )
    test = [
        Example(image, int(name))
        for name, folder in root.folders.items()
        for image in folder.images(root)
    ]
    return Listing.found(V2_LAYOUT, root, classes, [], test)


def _is_wnid_shift(source: Source, root: Folder) -> bool:
    """Wnid folders alone."""
    return len(root.folders) >= 2 and all(map(WNID.fullmatch, root.folders))


def _read_wnid_shift(source: Source, root: Folder) -> Listing:
    """Test images only, of the wnids that there are: an evaluation chooses among these."""
    classes, test = read_classes(source, root, root)
    return Listing.found(WNID_LAYOUT, root, classes, [], test)


def _is_objectnet(source: Source, root: Folder) -> bool:
    """`images` beside `mappings`, with the mapping of folders in it."""
    return IMAGES in root.folders and FOLDER_LABELS in root.folders.get(MAPPINGS, Folder("")).files


def _read_objectnet(source: Source, root: Folder) -> Listing:
    """Test images only, of the classes that are ImageNet's, without their frame.

    A class that is several of ImageNet's has the name of the first of them; evaluations leave
    the network no choice of the others.
    """
    wnids = _objectnet_wnids(source, root.folders[MAPPINGS])
    folders = root.folders[IMAGES].folders
    wanted = {name: wnid[0] for name, wnid in wnids.items() if name in folders}
    if not wanted:
        raise UserError(f"{source.where(root.folders[IMAGES].path)}: no folder of a mapped class")
    classes = tuple(sorted(set(wanted.values())))
    test = [
        Example(image, classes.index(wnid), area=Inside(BORDER))
        for name, wnid in wanted.items()
        for image in folders[name].images(root)
    ]
    note = f"{len(wanted)} of {len(folders)} folders are classes of ImageNet's; only these are read"
    notes = [note]
    several = sum(len(wnids[name]) > 1 for name in wanted)
    if several:
        notes.append(f"folders that are several of ImageNet's classes, the first counts: {several}")
    return Listing.found(OBJECTNET_LAYOUT, root, classes, [], test, notes=tuple(notes))


def _objectnet_wnids(source: Source, mappings: Folder) -> dict[str, list[str]]:
    """The wnids of each folder that has any."""
    where = source.where(mappings.path)
    folder_labels = read_texts(source, mappings.join(FOLDER_LABELS))
    imagenet_names = read_texts(source, mappings.join(IMAGENET_NAMES))
    named = _imagenet_names(source, mappings)
    classes = _reference_classes(source, OBJECTNET_LAYOUT)
    if len(named) != len(classes):
        raise UserError(
            f"{where}: numbers for {len(named)} classes, but the dataset that numbers the "
            f"classes has {len(classes)}; name another with --classes-of"
        )
    wnids = {}
    for folder, label in folder_labels.items():
        names = [name for name in imagenet_names.get(label, "").split("; ") if name]
        for name in names:
            if name not in named:
                raise UserError(f"{where}/{LINES}: no class {name!r}")
        if names:
            wnids[folder] = [classes[named.index(name)] for name in names]
    return wnids


def _imagenet_names(source: Source, mappings: Folder) -> list[str]:
    """The names of ImageNet's classes in their order; two of them are called crane."""
    lines_of = read_json(source, mappings.join(LINE_NUMBERS))
    text = source.member(mappings.join(LINES)).read(LINES_BYTES).decode("utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    try:
        return [lines[int(lines_of[str(number)])] for number in range(len(lines_of))]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        where = source.where(mappings.join(LINE_NUMBERS))
        raise UserError(f"{where}: not the line in {LINES} of every class number") from error


IMAGENET_V2 = Reader("imagenet-v2", V2_LAYOUT, _is_v2, _read_v2, ("classes_of",))
WNID_SHIFT = Reader("wnid-shift", WNID_LAYOUT, _is_wnid_shift, _read_wnid_shift)
OBJECTNET = Reader("objectnet", OBJECTNET_LAYOUT, _is_objectnet, _read_objectnet, ("classes_of",))
