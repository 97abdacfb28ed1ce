"""The parts of a store: whether all are there, of the right kind and length, and readable."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import h5py
import numpy as np

from anynet_study.metrics import CURVES
from anynet_study.store.attributes import get_texts
from anynet_study.store.columns import absent_curve
from anynet_study.store.layout import (
    CODED,
    EVALUATION_CODED,
    EVALUATION_COLUMNS,
    FIRST_WITH_ENGINE,
    FIRST_WITH_TEST_ERROR,
    RUN_COLUMNS,
)
from anynet_study.store.sealing import is_sealed
from anynet_study.store.verifying.finding import Finding, Findings, Progress

#: Bytes of an array that are read at a time.
BLOCK_BYTES = 1 << 24
#: gzip makes nothing smaller than this many times; a larger array is not all there.
MOST_COMPRESSED = 1100
#: No chunk that we write is longer, in bytes.
LONGEST_CHUNK = 1 << 30

TABLES = ("architectures", "datasets", "journals")
GROUPS = (*TABLES, "runs", "labels", "curves", "specs", "predictions")
_NUMBERS = dict.fromkeys(("error", "seconds", "started", "loss", "top1", "top5"), "f")


def parts(file: h5py.File) -> Findings:
    """What is missing, of another type, or of another length than the rest of its table.

    If there is anything, the contents make no sense.
    """
    newer = int(file.attrs["schema_version"]) >= FIRST_WITH_ENGINE
    groups = (*GROUPS, "evaluations") if newer else GROUPS
    absent = [name for name in groups if not isinstance(file.get(name), h5py.Group)]
    if absent:
        yield from (Finding(f"/{name}", "is missing") for name in absent)
        return
    for name in TABLES:
        yield from _table(file, name)
    older = set() if newer else {"engine"}
    yield from _runs(file, older)
    if newer:
        yield from _evaluations(file)
    for name in (each for each in CURVES if not absent_curve(file, each)):
        yield from _array(file, f"/curves/{name}", "f", None)
    yield from _array(file, "/specs/text", "u", None)
    for name in file["predictions"]:
        yield from _predictions(file, f"/predictions/{name}")


def _predictions(file: h5py.File, path: str) -> Findings:
    group = file.get(path)
    if not isinstance(group, h5py.Group):
        yield Finding(path, "cannot be read")
        return
    yield from _array(file, f"{path}/classes", "u", None, dimensions=2)
    yield from _array(file, f"{path}/run", "iu", None)
    if "dataset" not in group.attrs:
        yield Finding(path, "does not say its dataset")


def _table(file: h5py.File, name: str) -> Findings:
    """The columns of a table; the first says how long all are."""
    columns = get_texts(file[name], "columns") if "columns" in file[name].attrs else []
    first = file[name].get(columns[0]) if columns else None
    length = first.shape[0] if isinstance(first, h5py.Dataset) and first.ndim == 1 else None
    if not columns:
        yield Finding(f"/{name}", "does not say its columns")
    for column in columns:
        yield from _array(file, f"/{name}/{column}", "iufSO", length)


def _evaluations(file: h5py.File) -> Findings:
    for column in EVALUATION_CODED:
        yield from _array(file, f"/labels/{column}", "SO", None)
    first = file["evaluations"].get("run")
    count = first.shape[0] if isinstance(first, h5py.Dataset) and first.ndim == 1 else None
    without_error = int(file.attrs["schema_version"]) < FIRST_WITH_TEST_ERROR
    for column in (c for c in EVALUATION_COLUMNS if c != "error" or not without_error):
        yield from _array(file, f"/evaluations/{column}", _NUMBERS.get(column, "iu"), count)
    parent = file["evaluations"].get("predictions")
    if not isinstance(parent, h5py.Group):
        yield Finding("/evaluations/predictions", "is missing")
        return
    for dataset, groups in parent.items():
        for name in groups if isinstance(groups, h5py.Group) else ():
            path = f"{parent.name}/{dataset}/{name}"
            group = file.get(path)
            said = set(group.attrs) if isinstance(group, h5py.Group) else set()
            if not {"dataset", "evaluation"} <= said:
                yield Finding(path, "cannot be read, or does not say what it is")
            yield from _array(file, f"{path}/classes", "u", None, dimensions=2)
            yield from _array(file, f"{path}/row", "iu", None)


def _runs(file: h5py.File, without: Collection[str]) -> Findings:
    """`without`: columns that older versions lack."""
    for column in CODED:
        if column in without:
            continue
        yield from _array(file, f"/labels/{column}", "SO", None)
    runs = file["runs"].get("run_id")
    count = runs.shape[0] if isinstance(runs, h5py.Dataset) and runs.ndim == 1 else None
    yield from _array(file, "/runs/run_id", "S", count)
    for column in RUN_COLUMNS[1:]:
        if column in without:
            continue
        yield from _array(file, f"/runs/{column}", _NUMBERS.get(column, "iu"), count)
    for group in ("curves", "specs"):
        yield from _array(file, f"/{group}/offsets", "iu", None if count is None else count + 1)


def _array(
    file: h5py.File, path: str, kinds: str, length: int | None, dimensions: int = 1
) -> Findings:
    array = file.get(path)
    if not isinstance(array, h5py.Dataset):
        yield Finding(path, "is missing")
    elif array.dtype.kind not in kinds or array.ndim != dimensions:
        yield Finding(path, f"is {array.dtype} of shape {array.shape}, not as documented")
    elif length is not None and array.shape[0] != length:
        yield Finding(path, f"has {array.shape[0]} rows where there should be {length}")


def arrays(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Every dataset by its path."""
    found: dict[str, h5py.Dataset] = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            found[f"/{name}"] = item

    file.visititems(visit)
    return found


def sizes(arrays: Mapping[str, h5py.Dataset]) -> Findings:
    """Arrays that claim to be larger than what is stored can be: reading them takes all memory."""
    for path, array in arrays.items():
        stored = array.id.get_storage_size()
        chunk = int(np.prod(array.chunks or (1,))) * array.dtype.itemsize
        if array.nbytes > MOST_COMPRESSED * stored + BLOCK_BYTES or chunk > LONGEST_CHUNK:
            yield Finding(path, f"claims {array.nbytes} bytes, of which {stored} are there")


def readable(arrays: Mapping[str, h5py.Dataset], progress: Progress) -> Findings:
    """Read everything once, which compares HDF5's checksums."""
    done = 0
    for path, array in arrays.items():
        try:
            for _ in blocks_of(array):
                pass
        except (OSError, RuntimeError) as error:
            yield Finding(path, f"cannot be read: {(str(error).splitlines() or ['?'])[0]}")
        done += array.nbytes
        progress(done)


def blocks_of(array: h5py.Dataset) -> Iterator[Any]:
    """Its values, a stretch of rows at a time."""
    if not array.shape:
        yield array[()]
        return
    row = int(np.prod(array.shape[1:])) * array.dtype.itemsize
    rows = max(1, BLOCK_BYTES // max(1, row))
    if array.chunks:
        rows = -(-rows // array.chunks[0]) * array.chunks[0]
    for first in range(0, array.shape[0], rows):
        yield array[first : first + rows]


def root(file: h5py.File) -> Findings:
    """The seal on what HDF5 does not check; and where the store says that it comes from."""
    if is_sealed(file) is False:
        yield Finding("/", "attributes or texts were changed: the seal does not fit")
    try:
        told = json.loads(file["provenance"].asstr()[()])
    except (KeyError, ValueError, TypeError):
        told = None
    if not isinstance(told, dict):
        yield Finding("/provenance", "is not a JSON object")
