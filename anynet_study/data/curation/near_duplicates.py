"""Near duplicates: images that differ only in light, compression, a frame or a small shift.

It takes two steps, as in paper 2: a perceptual hash finds candidates among all pairs, and a
distance between their pixels decides. On CIFAR-10, of whose test images the literature finds 3.25%
in the training set by eye, the limits below find 3.2% (docs/data.md).
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray
from PIL import Image
from scipy.fft import dctn
from scipy.ndimage import uniform_filter

from anynet_study.core.progress import progress_if_long
from anynet_study.data import Images

if TYPE_CHECKING:
    import pandas as pd

#: Height and width at which images are compared, in pixels.
SIDE = 32
#: Low frequencies in each direction that the hash is made of: 64 bits.
FREQUENCIES = 8
#: Bits of the hash in which two candidates may differ, of 64.
MOST_BITS = 14
#: Distance of near duplicates: 1 minus the correlation of their details.
MOST_DISTANCE = 0.3
#: How many images are read, and how many hashes are compared with all others, at a time.
BLOCK, HASHES = 2048, 64
#: Pairs whose pixels are compared at a time.
PAIRS = 16_384
#: Details weaker than this (standard deviation of a pixel, out of 255) count as none.
FAINT = 2.0
GREY = np.array([0.299, 0.587, 0.114], np.float32)

Hashes = NDArray[np.uint64]
Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


class _Prepared(NamedTuple):
    hashes: Hashes
    #: (N, features), each of length 1, or 0 where there are no details.
    details: Floats
    #: (N,) equal where the thumbnails are, even those without details.
    digests: Hashes


def find_near_duplicates(
    images: Images,
    reference: Images | None = None,
    bits: int = MOST_BITS,
    distance: float = MOST_DISTANCE,
) -> "pd.DataFrame":
    """Every pair of one of `images` and one of the `reference` that are near duplicates.

    Both are (N, size, size, 3) uint8, their sizes may differ. Without a reference, pairs among
    `images`. Returns DataFrame[image, reference, bits, distance] of their rows, the nearest pair
    first: `bits` in which their hashes differ, and 1 minus the correlation of their details (0 to
    `distance`). Images without details, of about one colour, are near duplicates only where they
    are equal.
    """
    import pandas as pd

    ours = _prepared(images)
    theirs = ours if reference is None else _prepared(reference)
    found = list(_pairs(ours, theirs, bits, distance, among=reference is None))
    first, second, differing, far = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort([second, first, far])
    columns = {"image": first, "reference": second, "bits": differing, "distance": far}
    return pd.DataFrame(columns).iloc[order].reset_index(drop=True)


def _prepared(images: Images) -> _Prepared:
    hashes, features, digests = [], [], []
    with progress_if_long("preparing images", len(images)) as report:
        for part in thumbnails(images):
            hashes.append(_hashes(part))
            features.append(_details(part))
            digests += [
                int.from_bytes(blake3(image.tobytes()).digest(8), "little") for image in part
            ]
            report(sum(map(len, hashes)))
    whole = np.array(digests, np.uint64)
    return _Prepared(np.concatenate(hashes), np.concatenate(features), whole)


def thumbnails(images: Images) -> Iterator[Floats]:
    """(n, SIDE, SIDE, 3) of some images after others."""
    for start in range(0, len(images), BLOCK):
        part = np.asarray(images[start : start + BLOCK])
        if part.shape[1] != SIDE:
            way = Image.Resampling.BOX if part.shape[1] > SIDE else Image.Resampling.BILINEAR
            small = [Image.fromarray(image).resize((SIDE, SIDE), way) for image in part]
            part = np.stack([np.asarray(image) for image in small])
        yield part.astype(np.float32)


def _hashes(thumbnails: Floats) -> Hashes:
    """(n,) 64 bits: which of the lowest frequencies of the grey image are above their median.

    That of the library imagehash (`phash`): the DCT of the grey image at 32 x 32 pixels.
    """
    low = dctn(thumbnails @ GREY, axes=(1, 2))[:, :FREQUENCIES, :FREQUENCIES]
    low = low.reshape(len(low), FREQUENCIES**2)
    above = low > np.median(low, axis=1, keepdims=True)
    return np.packbits(above, axis=1).view(np.uint64).ravel()


def _details(thumbnails: Floats) -> Floats:
    """(n, features) the colours less their local mean, each image's of length 1.

    So light, contrast and plain areas such as sky do not matter; 16 x 16 pixels are coarse enough
    that compression does not either.
    """
    half = SIDE // 2
    means = thumbnails.reshape(-1, half, 2, half, 2, 3).mean(axis=(2, 4))
    local = means - uniform_filter(means, (0, 5, 5, 0))
    flat = local.reshape(len(local), -1)
    length = np.linalg.norm(flat, axis=1, keepdims=True)
    seen = length > FAINT * np.sqrt(flat.shape[1])
    return np.where(seen, flat / np.where(seen, length, 1), 0).astype(np.float32)


def _pairs(
    ours: _Prepared, theirs: _Prepared, bits: int, distance: float, among: bool
) -> Iterator[tuple[Indices, Indices, NDArray[np.uint8], Floats]]:
    """Rows of near duplicates, in how many bits they differ, and their distances."""

    def of_block(start: int) -> tuple[Indices, Indices, NDArray[np.uint8], Floats]:
        differing = np.bitwise_count(ours.hashes[start : start + HASHES, None] ^ theirs.hashes)
        first, second = np.divmod(np.flatnonzero(differing <= bits), len(theirs.hashes))
        if among:
            kept = second > first + start
            first, second = first[kept], second[kept]
        count, far = differing[first, second], _distances(ours, theirs, first + start, second)
        near = far <= distance
        return first[near] + start, second[near], count[near], far[near]

    starts = range(0, len(ours.hashes), HASHES)
    with (
        ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
        progress_if_long("comparing images", len(ours.hashes)) as report,
    ):
        nothing = np.zeros(0, np.int64)
        yield nothing, nothing, np.zeros(0, np.uint8), np.zeros(0, np.float32)
        for done, found in enumerate(pool.map(of_block, starts)):
            report(min((done + 1) * HASHES, len(ours.hashes)))
            yield found


def _distances(ours: _Prepared, theirs: _Prepared, first: Indices, second: Indices) -> Floats:
    far = np.ones(len(first), np.float32)
    for start in range(0, len(first), PAIRS):
        rows = slice(start, start + PAIRS)
        agreement = np.einsum("ij,ij->i", ours.details[first[rows]], theirs.details[second[rows]])
        equal = ours.digests[first[rows]] == theirs.digests[second[rows]]
        far[rows] = np.where(equal, 0, np.maximum(1 - agreement, 0))
    return far
