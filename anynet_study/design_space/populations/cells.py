"""What a table says of its architectures, cell by cell, and the networks that this makes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.frame import MAX_DEPTH, MAX_WIDTH, Frame
from anynet_study.design_space.identity import STAGE_FIELDS, architecture_of
from anynet_study.design_space.networks import FloatArray, IntArray, Networks, networks_of
from anynet_study.errors import UserError


class Group(NamedTuple):
    """The networks of one frame, and their rows."""

    rows: IntArray
    networks: Networks


@dataclass(frozen=True)
class Cells:
    """One entry a row; not checked yet."""

    #: `depths`, `widths`, `bottleneck_ratios`, `group_widths` and `strides`, each of shape (S, n);
    #: 0 where there is no such stage.
    stages: dict[str, IntArray]
    stem: Sequence[str | None]
    stem_width: IntArray
    block: Sequence[str | None]
    se_ratio: FloatArray

    def groups(self, name_of: Callable[[int], str]) -> list[Group]:
        """Return the networks, the rows of each frame together.

        Raises UserError, beginning with the `name_of` a row, for the first of a frame's rows that
        makes no network.
        """
        stems, stem_codes = _codes(self.stem)
        blocks, block_codes = _codes(self.block)
        codes = [stem_codes, self.stem_width, block_codes, self.se_ratio.view(np.int64)]
        keys = np.vstack([*codes, self.stages["strides"]])
        groups = []
        for rows in _equal_columns(keys):
            row = int(rows[0])
            strides = self.stages["strides"][:, row].tolist()
            while strides and not strides[-1]:
                strides.pop()
            given = {
                "stem": stems[stem_codes[row]],
                "stem_width": int(self.stem_width[row]),
                "strides": tuple(strides),
                "block": blocks[block_codes[row]],
                "se_ratio": float(self.se_ratio[row]),
            }
            frame = Frame.checked(name_of(row), given)
            groups.append(Group(rows, self._networks(rows, frame, name_of)))
        return groups

    def _networks(self, rows: IntArray, frame: Frame, name_of: Callable[[int], str]) -> Networks:
        parts = [self.stages[field][:, rows].astype(np.int64) for field in STAGE_FIELDS]
        legal = legal_stages(parts, frame)
        if not legal.all():
            wrong = int(np.argmin(legal))
            raise UserError(f"{name_of(int(rows[wrong]))}: {_complaint(parts, wrong, frame)}")
        stacked = np.vstack([part[: frame.stages] for part in parts])
        return networks_of(stacked.T, frame)


def groups_of(architectures: Sequence[Architecture]) -> list[Group]:
    """Return the networks of architectures, those of each frame together."""
    rows: dict[Frame, list[int]] = {}
    for row, architecture in enumerate(architectures):
        rows.setdefault(architecture.frame, []).append(row)
    groups = []
    for frame, chosen in rows.items():
        stages = [[getattr(architectures[row], f) for f in STAGE_FIELDS] for row in chosen]
        groups.append(Group(np.array(chosen), networks_of(stages, frame)))
    return groups


def legal_stages(parts: Sequence[IntArray], frame: Frame) -> npt.NDArray[np.bool_]:
    """Which networks `Architecture` would accept; four arrays of shape (S, n), S or more stages.

    Stages that the frame does not have must be 0.
    """
    stages = frame.stages
    d, w, b, g = (part[:stages] for part in parts)
    legal = np.asarray(
        (d >= 1) & (d <= MAX_DEPTH) & (w >= 1) & (w <= MAX_WIDTH) & (b >= 1) & (g >= 1)
    )
    b, g = np.maximum(b, 1), np.maximum(g, 1)  # so that nothing is divided by 0
    legal &= (w % b == 0) & (w // b % g == 0)
    if frame.block != "bottleneck":
        legal &= (b == 1) & (g == w)
    beyond = np.vstack([part[stages:] for part in parts])
    return np.asarray(legal.all(axis=0) & ~beyond.any(axis=0))


def _complaint(parts: Sequence[IntArray], wrong: int, frame: Frame) -> str:
    """Say why `Architecture` refuses a network."""
    stages = [part[: frame.stages, wrong].tolist() for part in parts]
    try:
        architecture_of([one for part in stages for one in part], frame)
    except UserError as error:
        return str(error).removeprefix("architecture: ")
    return f"it has more stages than strides, of which there are {frame.stages}"


def _codes(values: Sequence[Any]) -> tuple[list[Any], IntArray]:
    """Return the different values, and the place among them of each."""
    different = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(different.__getitem__, values), dtype=np.int64, count=len(values))
    return list(different), codes


def _equal_columns(keys: IntArray) -> list[IntArray]:
    """Return the places of each different column, by their first place."""
    if (keys == keys[:, :1]).all():
        return [np.arange(keys.shape[1])] if keys.shape[1] else []
    _, first, inverse = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    counts = np.bincount(inverse.reshape(-1))
    places = np.split(order, np.cumsum(counts)[:-1])
    return [places[number] for number in np.argsort(first).tolist()]
