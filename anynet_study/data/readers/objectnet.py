"""ObjectNet: photos of household objects, of which 113 classes are ImageNet's. A test set."""

from anynet_study.data.packing.encoded import Inside
from anynet_study.data.readers.json_files import read_json
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.reference_classes import reference_classes
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "ObjectNet"
CHOICES = ("classes_of",)
IMAGES, MAPPINGS = "images", "mappings"
#: By folder the label; by label the names of ImageNet's classes, '; ' between them.
FOLDER_LABELS, IMAGENET_NAMES = "folder_to_objectnet_label.json", "objectnet_to_imagenet_1k.json"
#: A class's name on every line; by ImageNet's class number the line, both from 0.
LINES, LINE_NUMBERS = "imagenet_to_label_2012_v2", "pytorch_to_imagenet_2012_id.json"
MAX_BYTES = 1 << 20
#: The photos have a red frame so wide, in pixels, which marks them as test images.
BORDER = 2


def recognises(source: Source, root: Folder) -> bool:
    """`images` beside `mappings`, with the mapping of folders in it."""
    return IMAGES in root.folders and FOLDER_LABELS in root.folders.get(MAPPINGS, Folder("")).files


def read(source: Source, root: Folder) -> Listing:
    """Test images only, of the classes that are ImageNet's, without their frame.

    A class that is several of ImageNet's has the name of the first of them; evaluations leave
    the network no choice of the others.
    """
    wnids = _wnids(source, root.folders[MAPPINGS])
    folders = root.folders[IMAGES].folders
    wanted = {name: wnid[0] for name, wnid in wnids.items() if name in folders}
    if not wanted:
        raise UserError(f"{source.where(root.folders[IMAGES].path)}: no folder of a mapped class")
    classes = tuple(sorted(set(wanted.values())))
    prefix = len(root.join(""))
    test = [
        Example(image[prefix:], classes.index(wnid), area=Inside(BORDER))
        for name, wnid in wanted.items()
        for image in folders[name].images()
    ]
    test.sort(key=lambda example: example.name)
    note = f"{len(wanted)} of {len(folders)} folders are classes of ImageNet's; only these are read"
    notes = [note]
    several = sum(len(wnids[name]) > 1 for name in wanted)
    if several:
        notes.append(f"folders that are several of ImageNet's classes, the first counts: {several}")
    ignored = root.count() - len(test)
    return Listing(LAYOUT, root.path, classes, [], test, ignored, notes=tuple(notes))


def _wnids(source: Source, mappings: Folder) -> dict[str, list[str]]:
    """The wnids of each folder that has any."""
    where = source.where(mappings.path)
    folder_labels = _texts(source, mappings, FOLDER_LABELS)
    imagenet_names = _texts(source, mappings, IMAGENET_NAMES)
    named = _imagenet_names(source, mappings)
    classes = reference_classes(source, LAYOUT)
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
    text = source.member(mappings.join(LINES)).read(MAX_BYTES).decode("utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    try:
        return [lines[int(lines_of[str(number)])] for number in range(len(lines_of))]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        where = source.where(mappings.join(LINE_NUMBERS))
        raise UserError(f"{where}: not the line in {LINES} of every class number") from error


def _texts(source: Source, mappings: Folder, name: str) -> dict[str, str]:
    content = read_json(source, mappings.join(name))
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise UserError(f"{source.where(mappings.join(name))}: not an object of texts")
    return content
