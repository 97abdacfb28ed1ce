"""Ids of many networks at once: the same as each `Architecture.id`, ten times as fast."""

import hashlib
import json

from anynet_study.design_space.architecture import Architecture
from anynet_study.design_space.frame import Frame
from anynet_study.design_space.networks import Networks

#: The fields that differ within a frame, as in `Networks.rows`.
STAGE_FIELDS = ("depths", "widths", "bottleneck_ratios", "group_widths")


def ids_of(networks: Networks) -> list[str]:
    """Return the id of each network."""
    template, order = _template(networks.frame)
    stages = networks.frame.stages
    columns = [number + STAGE_FIELDS.index(f) * stages for f in order for number in range(stages)]
    rows = zip(*networks.rows().T[columns].tolist(), strict=True)
    return [hashlib.sha256((template % row).encode()).hexdigest()[:16] for row in rows]


def architecture_of(row: list[int], frame: Frame) -> Architecture:
    """Return the network of one of `Networks.rows`. Raises UserError where it cannot be built."""
    stages = frame.stages
    d, w, b, g = (tuple(row[first : first + stages]) for first in range(0, 4 * stages, stages))
    return Architecture(
        d, w, b, g, frame.strides, frame.stem, frame.stem_width, frame.block, frame.se_ratio
    )


def _template(frame: Frame) -> tuple[str, list[str]]:
    """Return the canonical text of a frame's networks, %d for numbers, and the order of these."""
    stages = frame.stages
    values = architecture_of([1] * (4 * stages), frame).to_dict()
    values.update(dict.fromkeys(STAGE_FIELDS, ["%d"] * stages))
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return text.replace('"%d"', "%d"), [name for name in sorted(values) if name in STAGE_FIELDS]
