"""Sums and sums of squares of images, from which means and deviations are exact."""

import numpy as np
from numpy.typing import NDArray


def moments_of(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """(n, 2, 3) int64: of each image and channel the sum and the sum of squares of its bytes.

    `images`: (n, height, width, 3), the height up to 2**15: sums of a column fit 32 bits.
    """
    count, height, width, channels = images.shape
    columns = np.empty((count, 2, width * channels), np.int32)
    # One image at a time, in the same memory: it stays in the cache.
    values = np.empty((height, width * channels), np.int32)
    for image, (sums, squares) in zip(images, columns, strict=True):
        values[...] = image.reshape(height, -1)
        np.add.reduce(values, axis=0, out=sums)
        np.multiply(values, values, out=values)
        np.add.reduce(values, axis=0, out=squares)
    moments: NDArray[np.int64] = columns.reshape(count, 2, width, channels).sum(2, np.int64)
    return moments
