"""The images of a split of a packed dataset: pixels in one array, or JPEG files in Arrow files.

Pillow is imported where JPEG files are opened: many commands only ask what a dataset holds.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.core.errors import first_line
from anynet_study.core.files import naming, open_regular
from anynet_study.data.packed.form import Form
from anynet_study.data.packed.meta import Split, damaged

SCHEMA = pa.schema([pa.field("image", pa.binary(), nullable=False)])


class Images(Protocol):
    """(N, size, size, 3) uint8 RGB: an array, or what is indexed like one."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nbytes(self) -> int:
        """Bytes of the pixels."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NDArray[np.uint8]]: ...
    def __getitem__(self, index: Any, /) -> NDArray[np.uint8]:
        """The image at a row (size, size, 3), or those of a slice or at an array of rows."""


def stored_bytes(images: Images) -> Iterator[memoryview]:
    """Yield each image of `stored_images` as it is stored: its pixels or its file."""
    if isinstance(images, JpegImages):
        return images.files()
    return (np.ascontiguousarray(image).data for image in images)


def stored_images(folder: Path, split: Split, form: Form) -> Images:
    """The images of a split. OSError or ValueError where they are damaged."""
    if form.store == "jpeg":
        return JpegImages(folder, split, form)
    path = folder / f"{split}_images.npy"
    open_regular(path).close()
    with naming(path):
        array: NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


class JpegImages:
    """(N, size, size, 3) uint8 RGB, decoded when indexed: by a row, a slice, an array of rows.

    UserError where a file is damaged. The Arrow files are memory-mapped. Several images are
    decoded by several threads; any number of threads may index at the same time.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, folder: Path, split: Split, form: Form, threads: int | None = None) -> None:
        """`threads`: by default one per core. ValueError or OSError where a file is damaged."""
        self._folder, self._split, self._form = folder, split, form
        self._threads = threads or len(os.sched_getaffinity(0))
        batches: list[pa.BinaryArray] = []
        for path in sorted(folder.glob(f"{split}_images-*.arrow")):
            try:
                reader = pa.ipc.open_file(pa.memory_map(str(path)))
                if reader.schema != SCHEMA:
                    raise ValueError("other columns than images")
                numbers = range(reader.num_record_batches)
                batches += [reader.get_batch(number).column(0) for number in numbers]
            except (pa.ArrowException, ValueError) as error:
                raise ValueError(f"{path.name}: {first_line(error)}") from error
        self._files = pa.chunked_array(batches, pa.binary())

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return len(self._files), self._form.size, self._form.size, 3

    @property
    def nbytes(self) -> int:
        """Bytes of the pixels."""
        return len(self) * self._form.image_bytes

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (self[row] for row in range(len(self)))

    def file(self, row: int) -> pa.Buffer:
        """The JPEG file of a row."""
        return self._files[row].as_buffer()

    def __getitem__(self, index: Any, /) -> NDArray[np.uint8]:
        if isinstance(index, int | np.integer):
            return self._decode(range(len(self))[index])
        rows = np.arange(len(self))[index]
        images = np.empty((*rows.shape, *self.shape[1:]), np.uint8)
        places = images.reshape(-1, *self.shape[1:])
        numbers = rows.reshape(-1).tolist()

        def decode(part: int) -> None:
            for place in range(part, len(numbers), threads):
                places[place] = self._decode(numbers[place])

        threads = min(self._threads, len(numbers))
        if threads <= 1:
            for part in range(threads):
                decode(part)
            return images
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(decode, range(threads)))
        return images

    def files(self) -> Iterator[memoryview]:
        """All files as they are stored, in order."""
        return (memoryview(file.as_buffer()) for file in self._files)

    def __reduce__(self) -> tuple[Any, ...]:
        return JpegImages, (self._folder, self._split, self._form, self._threads)

    def _decode(self, row: int) -> NDArray[np.uint8]:
        from anynet_study.data.packed.jpeg import decode_stored

        try:
            return decode_stored(self.file(row), self._form)
        except (OSError, ValueError, SyntaxError) as error:
            raise damaged(
                self._folder, f"{self._split} image {row}: {first_line(error)}"
            ) from error
