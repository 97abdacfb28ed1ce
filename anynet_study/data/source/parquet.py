"""Parquet files as datasets of images are published in them: images in cells, classes as numbers.

The images of a file are unpacked as those of an archive are, into a folder called like the file.
The other columns are a table, in whose cells the images are these paths.
"""

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.core.sheets import SEVERAL, Csv
from anynet_study.data.source.tree import is_image

#: First bytes of a Parquet file.
MAGIC = b"PAR1"
ENDING = ".parquet"
#: Rows that are in memory at once, and all that may be in a file.
BATCH, MOST_ROWS = 64, 3_000_000


def _opened(file: IO[bytes], most: int) -> pq.ParquetFile:
    """A Parquet file; ValueError where it says that it has more bytes than `most`."""
    opened = pq.ParquetFile(file)
    groups = map(opened.metadata.row_group, range(opened.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    if size > most or opened.metadata.num_rows > MOST_ROWS:
        rows = opened.metadata.num_rows
        raise ValueError(f"{rows:,} rows of {size:,} bytes are more than is read")
    return opened


def _holds_images(kind: pa.DataType) -> bool:
    """Tell whether cells of this type are files: bytes, or bytes with a path, as Hugging Face
    has.
    """
    if pa.types.is_struct(kind):
        return {"bytes", "path"} <= {field.name for field in kind}
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _columns(file: pq.ParquetFile) -> tuple[list[str], list[str]]:
    """Columns of images, and the others."""
    schema = file.schema_arrow
    images = [field.name for field in schema if _holds_images(field.type)]
    return images, [name for name in schema.names if name not in images]


def _place(images: list[str], column: str, row: int) -> str:
    """Return where an image is in the folder of its file, without ending."""
    return f"{row:07d}" if len(images) == 1 else f"{column}/{row:07d}"


def _content(cell: Any) -> tuple[bytes | None, str]:
    """The bytes in a cell, if there are any, and its path."""
    if isinstance(cell, dict):
        return cell["bytes"], cell["path"] or ""
    return cell, ""


def images_in(file: IO[bytes], most: int) -> Iterator[tuple[str, bytes]]:
    """Each image that is in the file itself, by name, of at most so many bytes together.

    Errors of pyarrow, and ValueError, for a file that is damaged or too large.
    """
    opened = _opened(file, most)
    images, _ = _columns(opened)
    if not images:
        return
    row = 0
    for batch in opened.iter_batches(BATCH, columns=images):
        for cells in batch.to_pylist():
            for column in images:
                content, path = _content(cells[column])
                ending = PurePosixPath(path).suffix if is_image(path) else ".jpg"
                if content is not None:
                    yield f"{_place(images, column, row)}{ending}", content
            row += 1


def records_of(file: IO[bytes], folder: str, most: int) -> Csv:
    """The rows as texts; images are in `folder`, or where their paths say.

    Classes of Hugging Face's `ClassLabel` have their names. Raises as `images_in` does.
    """
    opened = _opened(file, most)
    images, others = _columns(opened)
    features = _features(opened.schema_arrow)
    classes = {name: found for name in others if (found := _class_names(features.get(name)))}
    rows: list[list[str]] = []
    for batch in opened.iter_batches(BATCH, columns=[*images, *others]):
        for cells in batch.to_pylist():
            files = []
            for column in images:
                content, path = _content(cells[column])
                place = f"{folder}/{_place(images, column, len(rows))}"
                files.append(path if content is None else place)
            texts = [_text(cells[name], classes.get(name)) for name in others]
            rows.append([*files, *texts])
    return Csv([*images, *others], rows, 1, tuple(classes))


def _features(schema: pa.Schema) -> dict[str, Any]:
    """Return what Hugging Face notes of the columns."""
    noted = (schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        features = json.loads(noted)["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}


def _class_names(feature: Any) -> list[str] | None:
    """The names of a column of classes, or of lists of them."""
    if isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    if not isinstance(feature, dict):
        return None
    if feature.get("_type") == "ClassLabel":
        found = feature.get("names")
        return [str(name) for name in found] if isinstance(found, list) else None
    return _class_names(feature.get("feature"))


def _text(cell: Any, classes: list[str] | None) -> str:
    """A cell as a table of texts has it; the number -1 is no class."""
    if isinstance(cell, list):
        return SEVERAL.join(_text(part, classes) for part in cell)
    if cell is None or cell != cell:
        return ""
    if classes is not None and isinstance(cell, int):
        if cell >= len(classes):
            raise ValueError(f"class {cell}, but {len(classes)} classes have names")
        return classes[cell] if cell >= 0 else ""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell) if whole or isinstance(cell, bool) else cell).strip()
