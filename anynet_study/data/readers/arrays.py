"""Arrays of images and labels of each part, as MedMNIST and others publish them in one .npz."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.readers.listing import Example, Listing, Reader
from anynet_study.data.readers.safe_files import NPY_BYTES
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError, counted, first_line

LAYOUT = "arrays (NPZ)"
PARTS = ("train", "test", "val")


def _recognises(source: Source, root: Folder) -> bool:
    """`train_images.npy` and `train_labels.npy`, which are what an .npz file has inside."""
    return {"train_images.npy", "train_labels.npy"} <= {*root.files}


def _read(source: Source, root: Folder) -> Listing:
    """Grey (N, height, width) or colour (N, height, width, 3) uint8, with labels (N,) or (N, 1).

    Validation is the test split where there is no other. UserError for arrays that do not fit.
    """
    images = {part: _images(source, root, part) for part in PARTS if _has(root, part)}
    labels = {part: _labels(source, root, part, len(found)) for part, found in images.items()}
    numbers = sorted({int(label) for found in labels.values() for label in found})
    parts = {
        part: [
            Example(f"{part}/{place:07d}", numbers.index(int(label)), pixels=pixels)
            for place, (pixels, label) in enumerate(zip(found, labels[part], strict=True))
        ]
        for part, found in images.items()
    }
    test = parts.get("test") or parts.get("val")
    unread = len(parts.get("val", ())) if "test" in parts else 0
    notes = (f"{counted(unread, 'image')} for validation not read",) if unread else ()
    files = len(root.files)
    return Listing.found(
        LAYOUT, root, tuple(map(str, numbers)), parts["train"], test, files=files, notes=notes
    )


def _has(root: Folder, part: str) -> bool:
    return {f"{part}_images.npy", f"{part}_labels.npy"} <= {*root.files}


def _load(source: Source, root: Folder, name: str) -> tuple[str, NDArray[Any]]:
    where = source.where(root.join(name))
    try:
        content = source.member(root.join(name)).read(NPY_BYTES)
        return where, np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # numpy's parser of headers raises nearly anything
        raise UserError(f"{where}: not a readable array ({first_line(error)})") from error


def _images(source: Source, root: Folder, part: str) -> NDArray[np.uint8]:
    where, array = _load(source, root, f"{part}_images.npy")
    grey = array.ndim == 3
    if array.dtype != np.uint8 or not (grey or (array.ndim == 4 and array.shape[3] == 3)):
        raise UserError(
            f"{where}: {array.dtype} {array.shape}; legal: uint8 (N, height, width) and (N, "
            "height, width, 3)"
        )
    return np.broadcast_to(array[..., None], (*array.shape, 3)) if grey else array


def _labels(source: Source, root: Folder, part: str, count: int) -> NDArray[Any]:
    where, array = _load(source, root, f"{part}_labels.npy")
    if array.dtype.kind not in "iu" or array.shape not in ((count,), (count, 1)):
        raise UserError(
            f"{where}: {array.dtype} {array.shape}; legal: one whole number for each of "
            f"{count} images (several classes of an image are not read)"
        )
    return array.ravel()


ARRAYS = Reader("arrays", LAYOUT, _recognises, _read)
