"""Files that belong to one image each: 000001.cls and 000001.json beside 000001.jpg.

So WebDataset's shards hold classes, and so people keep annotations. Together they are a table.
"""

import json
from collections import defaultdict
from collections.abc import Iterator

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.sheets import Csv
from anynet_study.data.readers import names
from anynet_study.data.readers.safe_files import as_text
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

CLASS, ENDINGS = "cls", (".cls", ".json", ".txt", ".xml")
#: Most bytes of one such file.
MOST_BYTES = 1 << 20


def key_of(name: str) -> str:
    """Return what files of one image have in common: WebDataset's name up to the first dot."""
    return name.partition(".")[0]


def sidecars_in(folder: Folder) -> set[str]:
    """The files of a folder that belong to one of its images."""
    keys = {key_of(name) for name in folder.files if folder.is_image(name)}
    return {n for n in folder.files if n.lower().endswith(ENDINGS) and key_of(n) in keys}


def sidecar_records(source: Source, root: Folder) -> Iterator[tuple[str, Csv | str]]:
    """A table for each part that has such files with classes, or why there is none.

    Images are paths from `root`; the columns are `image`, `cls`, and the keys of the JSON files.
    """
    parts: dict[str | None, tuple[str, list[dict[str, str]]]] = {}
    for folder in root.walk():
        sides = sorted(n for n in sidecars_in(folder) if n.lower().endswith((".cls", ".json")))
        if not sides:
            continue
        place = folder.join("*." + sides[0].rpartition(".")[2])[len(root.join("")) :]
        try:
            found = _rows(source, root, folder, sides)
        except UserError as error:
            yield place, f"are not read ({error})"
            return
        parts.setdefault(names.part_in(place), (place, []))[1].extend(found)
    for file, rows in parts.values():
        columns = list(dict.fromkeys(column for row in rows for column in row))
        if len(columns) > 1:
            yield file, Csv(columns, [[row.get(name, "") for name in columns] for row in rows], 1)


def _rows(source: Source, root: Folder, folder: Folder, sides: list[str]) -> list[dict[str, str]]:
    """Return what files say of each image of a folder."""
    images: dict[str, list[str]] = defaultdict(list)
    for name in filter(folder.is_image, folder.files):
        images[key_of(name)].append(name)
    if several := next((found for found in images.values() if len(found) > 1), None):
        raise UserError(
            f"{' and '.join(several)} are one sample; leave out what is no image of "
            f"it, such as --ignore '*.{several[-1].partition('.')[2]}'"
        )
    said: dict[str, dict[str, str]] = {
        key: {"image": folder.join(name)[len(root.join("")) :]} for key, (name,) in images.items()
    }
    for name in sides:
        said[key_of(name)] |= _said(source, folder.join(name))
    return list(said.values())


def _said(source: Source, path: str) -> dict[str, str]:
    """Return what one file says, by column."""
    try:
        content = source.member(path).read(MOST_BYTES).decode()
        if path.lower().endswith(".cls"):
            return {CLASS: content.strip()}
        found = json.loads(content)
    except (ValueError, OSError, RecursionError) as error:
        raise UserError(f"{source.where(path)}: {first_line(error)}") from None
    if not isinstance(found, dict):
        return {CLASS: as_text(found)} if isinstance(found, int | str) else {}
    return {
        str(key): as_text(value)
        for key, value in found.items()
        if not isinstance(value, dict) and key not in ("image", "__key__", "__url__")
    }
