"""What the binary and the python form of CIFAR-10 and CIFAR-100 share."""

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.readers.listing import Example
from anynet_study.errors import UserError

SIDE = 32
PIXELS = 3 * SIDE * SIDE


def examples(
    where: str,
    rows: NDArray[np.uint8],
    labels: NDArray[np.integer] | list[int],
    classes: tuple[str, ...],
) -> list[Example]:
    """Examples of the file `where`: `rows` (N, 3072) hold red, green and blue planes.

    They are named after file and row, alike in both forms.
    """
    stem = where.rpartition("/")[2].removesuffix(".bin")
    planes = rows.reshape(-1, 3, SIDE, SIDE)
    found = []
    for row, (image, label) in enumerate(zip(planes, labels, strict=True)):
        if not 0 <= label < len(classes):
            raise UserError(f"{where}: image {row} has label {label}; legal: 0..{len(classes) - 1}")
        pixels = image.transpose(1, 2, 0)
        found.append(Example(f"{stem}/{row:05d}", int(label), pixels=pixels))
    return found
