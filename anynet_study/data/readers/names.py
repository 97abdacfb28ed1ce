"""The names by which parts of a dataset and columns of its tables are known, in normal form.

One list for folders, tables and columns; `docs/data.md` shows it. Whatever is known by a name can
be declared by an option instead.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from anynet_study.core.sheets import letters_of, normal_form, words_of
from anynet_study.data.source.archives import OF_HDF5

#: Columns of images and of classes, the surest first.
IMAGE = (
    *("image_path", "img_path", "file_path", "filepath", "path", "file_name", "filename", "file"),
    *("image_id", "image_name", "image", "img", "id_code", "id", "name"),
)
LABEL = (
    *("cls", "label", "class", "class_name", "category", "target", "diagnosis", "dx", "species"),
    *("labels", "classes", "y", "class_id", "label_name", "category_name"),
)
GROUP = (
    *("group", "group_id", "patient_id", "patient", "lesion_id", "lesion", "subject_id", "subject"),
    *("case_id", "case", "slide_id", "slide", "seq_id", "seq", "sequence_id", "individual_id"),
    *("participant_id", "participant", "person_id", "person", "video_id", "video", "pid", "mrn"),
    *("patient_no", "patient_number", "case_no", "case_number", "slide_no", "slide_name", "wsi"),
    *("wsi_id", "individual", "animal_id", "animal", "specimen_id", "donor_id", "clip_id"),
    *("sequence", "study_id", "subject_no", "subject_number", "volunteer_id"),
)
SPLIT = (
    *("split", "subset", "set", "partition", "fold_name", "split_name", "data_split"),
    *("dataset_split", "usage", "phase", "is_train", "is_training", "is_training_image", "is_test"),
    *("is_valid", "is_validation", "is_val"),
)
INDEX = ("", "index", "unnamed_0")
#: Words of names of columns that tell an id, or what several images can be of.
ID_WORDS = {
    *("id", "ids", "no", "nr", "num", "number", "code", "uid", "key"),
    *("patient", "subject", "individual", "animal", "person", "participant", "donor", "case"),
    *("slide", "lesion", "video", "clip", "sequence", "session", "scene", "site", "location"),
    *("camera", "burst", "plant", "tree", "photographer", "user", "study", "acquisition", "visit"),
    *("eye", "volunteer", "specimen", "device", "trap", "track", "series", "fold"),
}
#: No part, no column, no class: what is left out.
NONE = "none"
PARTS = {
    **dict.fromkeys(("train", "training", "trn", "trainval"), "train"),
    **dict.fromkeys(("test", "testing", "tst", "t10k", "eval", "evaluation", "holdout"), "test"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
}
#: What may follow the name of a part: training_set, test_images.
FOLLOWS = ("", "set", "data", "split", "images", "image", "imgs")
#: Words of names of folders whose images nobody has labelled.
UNLABELLED = {"unlabeled", "unlabelled", "unannotated", "nolabel", "nolabels"}
#: Words of names of folders that say nothing of a class.
OF_NO_CLASS = {
    *PARTS,
    *UNLABELLED,
    *("image", "images", "img", "imgs", "jpg", "jpeg", "jpegs", "png", "photo", "photos"),
    *("picture", "pictures", "pics", "frames", "input", "inputs", "output", "data", "dataset"),
    *("part", "parts", "batch", "batches", "shard", "shards", "chunk", "chunks", "archive"),
    *("folder", "fold", "set", "subset", "split", "extracted", "raw", "ilsvrc2012"),
    *("mask", "masks", "annotation", "annotations", "label", "labels", "gt", "groundtruth"),
    *("segmentation", "segmentations", "thumb", "thumbs", "thumbnail", "thumbnails"),
    *("doc", "docs", "documentation", "readme", "figures", "screenshots", "assets", "samples"),
}
#: Words of folders that hold the same images in other forms; one of them alone may be a class.
FORMS = {
    *("rgb", "depth", "infrared", "thermal", "edges", "original", "originals", "orig", "augmented"),
    *("augmentation", "cropped", "resized", "aligned", "processed", "preprocessed", "jpegimages"),
    *("segmentationclass", "segmentationobject", "ground", "truth"),
}
#: Words of names of files whose one column says parts, and of those that may say classes or parts
#: in a way that is not understood.
OF_SPLITS = {"split", "splits", "partition", "partitions"}
TELLING = {
    *(*PARTS, *OF_SPLITS, "label", "labels", "ann", "annotation", "annotations", "meta"),
    *("metadata", "list", "lists", "attr", "attributes", "dataset"),
}
#: Files that may hold images or say classes and are not read: the reason, and the way out.
NOT_READ = {
    **dict.fromkeys((".heic", ".heif"), "HEIC photos are not read: convert them to JPEG"),
    **dict.fromkeys((".dcm", ".dicom"), "DICOM is not read: write PNG files (pydicom, Pillow)"),
    **dict.fromkeys((".svg", ".pdf"), "a drawing: convert it to PNG"),
    **dict.fromkeys(
        (".arrow", ".feather"),
        "Arrow, as save_to_disk writes, is not read: load_from_disk(FOLDER).to_parquet(FILE)",
    ),
    **dict.fromkeys(
        (".tfrecord", ".tfrecords"), "TFRecord is not read: write images in class folders"
    ),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a spreadsheet: save it as CSV"),
    **dict.fromkeys((".pkl", ".pickle"), "a pickle, which can run code: save it as CSV or .npz"),
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), OF_HDF5),
    **dict.fromkeys((".rar", ".7z"), "extract it yourself"),
    ".gz": "compressed: unpack it",
    ".mat": "variables of MATLAB: save the classes as CSV",
}
#: Ranges of numbers: parts of a long list of images; days and months; folders of cameras (DCIM).
RANGE = re.compile(r"\d+_\d+")
DAY = re.compile(r"(19|20)\d\d_?[01]\d(_?[0-3]\d)?|[0-3]?\d_[0-3]?\d_(19|20)\d\d")
OF_CAMERA = re.compile(r"\d{3}_?(?!.*(class|type|kind))[a-z][a-z0-9_]{3,4}")
#: A file beside the image of the first group: a mask of it, and so on.
OF_ANOTHER = re.compile(
    r"(.+?)[ _-](?:mask|seg|segmentation|gt|ground ?truth|thumb|thumbnail|annotation|overlay)s?"
    r"(?:[ _-]?\d+)?",
    re.IGNORECASE,
)
#: Folders of pictures of pictures.
BESIDE_IMAGES = {
    *("mask", "masks", "annotation", "annotations", "label", "labels", "gt", "groundtruth"),
    *("ground_truth", "segmentation", "segmentations", "thumb", "thumbs", "thumbnail"),
    *("thumbnails", "preview", "previews"),
}


def part_of(name: str) -> str | None:
    """The part of a dataset that a whole name says: train, test or validation."""
    words = normal_form(name).removeprefix("seg_")
    found = (words.removesuffix(end).rstrip("_") for end in FOLLOWS)
    return next((PARTS[part] for part in found if part in PARTS), None)


def part_in(path: str) -> str | None:
    """The one part that the words of a table's name, or else its folders', say."""
    for name in (PurePosixPath(path).stem, *reversed(PurePosixPath(path).parts[:-1])):
        words = {*words_of(name), *normal_form(name).split("_")}  # t10k is one word
        found = {PARTS[word] for word in words if word in PARTS}
        if len(found) == 1 or found == {"train", "validation"}:
            return min(found)
    return None


def not_read(name: str) -> str | None:
    """Why a file of this name is not read, though it may hold images or classes."""
    return NOT_READ.get(PurePosixPath(name).suffix.lower())


def no_classes(names: Collection[str]) -> list[str]:
    """Pick the names of folders that say part of a dataset, not a class.

    A name of such words and numbers alone (images_001, train-000000), and all where they have such
    words and are otherwise the same (X_Training_Input, X_Test_Input), all name a split, or are
    numbers of patients and the like (patient_001).
    """
    words = {name: words_of(name) for name in names}
    rests = {
        name: tuple(word for word in found if word not in OF_NO_CLASS and not word.isdigit())
        for name, found in words.items()
    }
    marked = [name for name in names if OF_NO_CLASS & set(words[name])]
    pure = [name for name in marked if not rests[name]]
    joined = {name: letters_of(name) for name in names}
    plain = [normal_form(name) for name in names]
    if any(all(map(kind.fullmatch, plain)) for kind in (RANGE, DAY)):
        return list(names)
    numbered = {name[:3] for name in plain}
    if all(map(OF_CAMERA.fullmatch, plain)) and len({n.lstrip("0123456789") for n in plain}) == 1:
        return list(names) if len(numbered) == len(plain) else []
    forms = any(rests.values()) and all({*rests[n]} <= FORMS or joined[n] in FORMS for n in names)
    if forms:
        return list(names)
    splits = [name for name in names if set(words[name]) & set(PARTS)]
    ids = [n for n in names if ID_WORDS & {*rests[n]} and any(map(str.isdigit, words[n]))]
    alike = max(len(marked), len(ids)) == len(names) >= 2 and len(set(rests.values())) == 1
    return list(names) if alike or len(splits) == len(names) >= 2 else pure


def tells(path: str, telling: Collection[str] = TELLING) -> bool:
    """Tell whether the name of a file says that parts or classes are in it."""
    return not {*telling}.isdisjoint(words_of(PurePosixPath(path).stem))
