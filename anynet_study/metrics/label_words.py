"""Predictions of several classes an image, in the form in which those of one class are kept.

Fifteen classes are a word of 16 bits, the first the lowest bit: no word is 65535, which stands for
a prediction that is not there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 15


def words_an_image(classes: int) -> int:
    """Words that hold the classes of one image."""
    return -(-classes // BITS)


def to_words(matrix: NDArray[Any]) -> NDArray[np.uint16]:
    """(images * words,) of a matrix (images, classes) of zeros and ones, image after image."""
    images, classes = matrix.shape
    bits = np.zeros((images, words_an_image(classes) * BITS), np.uint16)
    bits[:, :classes] = matrix
    weights = (1 << np.arange(BITS)).astype(np.uint16)
    words: NDArray[np.uint16] = (bits.reshape(-1, BITS) * weights).sum(axis=1, dtype=np.uint16)
    return words


def from_words(words: NDArray[np.uint16], classes: int) -> NDArray[np.uint8]:
    """(images, classes) uint8 of zeros and ones: `to_words` backwards."""
    bits = (words[:, None] >> np.arange(BITS, dtype=np.uint16)) & 1
    return bits.reshape(-1, words_an_image(classes) * BITS)[:, :classes].astype(np.uint8)
