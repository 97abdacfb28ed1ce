"""What speaks against folders being classes, and what to try where nothing says the classes."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from shlex import quote

from anynet_study.core.errors import counted, some_of
from anynet_study.core.sheets import normal_form, words_of
from anynet_study.data.readers import names
from anynet_study.data.readers.folders import hold_splits, split_parts
from anynet_study.data.readers.image_tables import ImageTable
from anynet_study.data.source import parquet
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

#: What comes before the number of an image in its name.
BEFORE_NUMBER = re.compile(r"(.*[^\W\d_])[\W_]*\d[\W\d_]*")
#: Names in a message.
SHOWN = 8


def doubt_of(source: Source, root: Folder) -> str | None:
    """Why the folders of `root` may be no classes; None where nothing speaks against it."""
    splits = split_parts(root) if hold_splits(root) else []
    for parent in splits or [root]:
        folders = [*parent.folders.values()]
        called = [folder.name for folder in folders if folder.holds_images()]
        if opened := next((n for n in called if f"{n}{parquet.ENDING}" in parent.files), None):
            told = f"{parent.join(opened)}{parquet.ENDING}"
            return f"{source.where(told)}: no column of it is known to hold classes"
        wrong = names.no_classes(called)
        # In a folder of its own, a class may well be called train, but not unlabeled.
        if splits and len(wrong) < len(called):
            wrong = [name for name in wrong if names.UNLABELLED & {*words_of(name)}]
        if wrong:
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


def places_in(source: Source, inner: Folder, tables: Sequence[ImageTable]) -> str | None:
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
