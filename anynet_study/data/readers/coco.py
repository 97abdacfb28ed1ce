"""Annotations in the format of COCO, as far as they give photos classes."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from anynet_study.data.readers.json_files import read_json
from anynet_study.data.readers.tables import checked_id
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError


@dataclass(frozen=True)
class CocoPart:
    """What one annotation file says."""

    #: What messages call the file.
    where: str
    #: By file name the class of each photo; None where it is not of exactly one.
    labels: dict[str, str | None]


def read_coco(source: Source, name: str, dropped: int) -> CocoPart:
    """The classes of the photos in the file `name`; annotations of category `dropped` are none.

    UserError if the file is not of this format, or a photo's name could lead to another folder.
    """
    where = source.where(name)
    content = read_json(source, name)
    try:
        categories = {_id(row): str(row["name"]) for row in content["categories"]}
        files = {row["id"]: str(row["file_name"]) for row in content["images"]}
        found: dict[Any, set[str]] = defaultdict(set)
        for row in content["annotations"]:
            if row["category_id"] != dropped:
                found[row["image_id"]].add(categories[row["category_id"]])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{where}: not annotations in COCO's format ({error})") from error
    labels: dict[str, str | None] = {}
    for number, file in files.items():
        classes = found[number]
        labels[checked_id(where, file)] = classes.pop() if len(classes) == 1 else None
    return CocoPart(where, labels)


def _id(row: dict[str, Any]) -> int:
    if type(row["id"]) is not int:
        raise ValueError(f"category id {row['id']!r} is not a number")
    return row["id"]
