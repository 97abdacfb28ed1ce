"""Features of images: by whatever function makes them, such as low frequencies."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn

from anynet_study.core.errors import UserError
from anynet_study.core.progress import progress_if_long
from anynet_study.data import Images
from anynet_study.data.curation.near_duplicates import thumbnails

#: Features without a network.
FREQUENCIES = "frequencies"
#: Low frequencies in each direction, of each channel.
LOW = 8
BATCH = 256

#: (images, size, size, 3) uint8 to (images, features).
Extractor = Callable[[NDArray[np.uint8]], NDArray[Any]]


def features_of(
    images: Images, rows: NDArray[np.int64], extract: Extractor, name: str = "images"
) -> NDArray[np.float32]:
    """(rows, features) float32 of the images at `rows`, computed for `BATCH` images at a time.

    UserError if `extract` does not return one row of numbers per image.
    """
    parts = []
    with progress_if_long(f"features of {name}", len(rows)) as report:
        for start in range(0, len(rows), BATCH):
            pixels = np.asarray(images[rows[start : start + BATCH]])
            found = np.asarray(extract(pixels))
            if found.ndim < 2 or len(found) != len(pixels) or found.dtype.kind not in "fiu":
                raise UserError(
                    f"--features: of {len(pixels)} images it made {found.dtype} {found.shape}; "
                    f"needed are numbers, ({len(pixels)}, features)"
                )
            parts.append(found.reshape(len(pixels), -1).astype(np.float32))
            report(start + len(pixels))
    return np.concatenate(parts)


def low_frequencies(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(images, 192): the lowest 8 x 8 frequencies of each channel at 32 x 32 pixels.

    They describe colours and coarse shapes, and need no network.
    """
    low = [
        dctn(part / 255, axes=(1, 2), norm="ortho")[:, :LOW, :LOW] for part in thumbnails(images)
    ]
    return np.concatenate(low).reshape(len(images), 3 * LOW**2).astype(np.float32)
