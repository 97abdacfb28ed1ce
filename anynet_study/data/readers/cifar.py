"""What the binary and the python form of CIFAR-10 and CIFAR-100 share."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.readers.listing import Example
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError

SIDE = 32
PIXELS = 3 * SIDE * SIDE
#: Of CIFAR-100: 20 coarse and 100 fine classes, in the order of the label bytes.
KINDS = ("coarse", "fine")


def chosen_labels(source: Source) -> str:
    """Which of CIFAR-100's labels are to be read."""
    kind = source.choices.labels or "fine"
    if kind not in KINDS:
        raise UserError(f"--labels {kind!r}: legal: {', '.join(KINDS)}")
    return kind


def no_choice_of_labels(source: Source) -> None:
    """UserError if labels are chosen, of which CIFAR-10 has only one kind."""
    if source.choices.labels is not None:
        raise UserError("--labels: CIFAR-10 has one kind of labels")


def group_classes(
    coarse: Sequence[int],
    fine: Sequence[int],
    coarse_names: tuple[str, ...],
    fine_names: tuple[str, ...],
) -> dict[str, tuple[str, ...]]:
    """The fine classes of each coarse one, by the labels of images; by name.

    None at all where the labels are not of such classes, or a fine class is in two coarse ones.
    """
    pairs = set(zip(coarse, fine, strict=True))
    if len({label for _, label in pairs}) < len(pairs):
        return {}
    groups: dict[str, list[str]] = {}
    for outer, inner in sorted(pairs):
        if not (0 <= outer < len(coarse_names) and 0 <= inner < len(fine_names)):
            return {}
        groups.setdefault(coarse_names[outer], []).append(fine_names[inner])
    return {name: tuple(members) for name, members in groups.items()}


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
