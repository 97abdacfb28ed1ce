"""One architecture: what is built, its id, and what it and each of its parts costs."""

import hashlib
import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from anynet_study.core.errors import UserError
from anynet_study.design_space import complexity, memory
from anynet_study.design_space.layers import map_sides
from anynet_study.design_space.networks import (
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_RESOLUTION,
    MAX_WIDTH,
    STAGE_FIELDS,
    Networks,
    Skeleton,
    networks_of,
)
from anynet_study.design_space.validation import known_keys, whole_number, whole_numbers

LATER_FIELDS = ("block", "se_ratio")


@dataclass(frozen=True, slots=True)
class Architecture:
    """One network; one value per stage in each tuple, 1 to 8 stages.

    Stem; then each stage is a number of blocks; then average pool and a linear layer. Blocks:

    - `bottleneck`: x + f(x), f = 1x1 convolution to the bottleneck width, 3x3 in groups, 1x1 back
      to the width. With `se_ratio`, squeeze-and-excitation follows the 3x3 (as in RegNetY).
    - `basic`: x + f(x), f = two 3x3 convolutions.
    - `vanilla`: two 3x3 convolutions without a shortcut.

    Each convolution has its batch norm. The stride is in the first 3x3 of a stage's first block,
    whose shortcut is a 1x1 convolution of that stride, unless stride 1 and equal widths allow the
    identity. This follows the code behind paper 1, where its text (section 4.1) can be read
    differently: see `complexity`.

    Raises UserError for what cannot be built: nothing is rounded to fit. (Spaces draw freely and
    make draws compatible before they become an Architecture: `networks.compatible`.)

    >>> network = Architecture(depths=(1, 1, 2, 1), widths=(16, 32, 64, 64), group_widths=(8,) * 4)
    >>> network.flops(resolution=32, classes=10), network.parameters(classes=10)
    (1610880, 56490)
    """

    #: Blocks of each stage, at least 1.
    depths: tuple[int, ...]
    #: Channels that a stage's blocks put out.
    widths: tuple[int, ...]
    #: Width over bottleneck width: 4 means that the 3x3 runs on a quarter of the channels. All 1
    #: if left out, and always for blocks without bottleneck.
    bottleneck_ratios: tuple[int, ...] = ()
    #: Channels in each group of the 3x3, so 1 is depthwise and the bottleneck width one group,
    #: as it is if left out, and always for blocks without bottleneck.
    group_widths: tuple[int, ...] = ()
    #: One per stage: their number is the number of stages.
    strides: tuple[int, ...] = (1, 2, 2, 2)
    #: `imagenet` (7x7 stride 2, 3x3 max pool stride 2), `simple` (3x3 stride 2), `cifar` (3x3).
    stem: str = "imagenet"
    stem_width: int = 32
    block: str = "bottleneck"
    #: Channels inside squeeze-and-excitation over the block's input channels; 0: there is none.
    se_ratio: float = 0.0

    def __post_init__(self) -> None:
        names = [field.name for field in fields(Skeleton)]
        skeleton = Skeleton.checked("architecture", {name: getattr(self, name) for name in names})
        clean = {name: getattr(skeleton, name) for name in names}
        for name, high in (("depths", MAX_DEPTH), ("widths", MAX_WIDTH)):
            clean[name] = _per_stage(getattr(self, name), name, skeleton.stages, high)
        ratios, groups = self.bottleneck_ratios, self.group_widths
        ratios = (1,) * skeleton.stages if _left_out(ratios) else ratios
        ratios = _per_stage(ratios, "bottleneck_ratios", skeleton.stages, MAX_WIDTH)
        whole = tuple(max(1, w // b) for w, b in zip(clean["widths"], ratios, strict=True))
        clean["bottleneck_ratios"] = ratios
        groups = whole if _left_out(groups) else groups
        clean["group_widths"] = _per_stage(groups, "group_widths", skeleton.stages, MAX_WIDTH)
        for name, value in clean.items():
            object.__setattr__(self, name, value)
        for stage in range(skeleton.stages):
            self._check_stage(stage)

    def _check_stage(self, stage: int) -> None:
        w, b, g = self.widths[stage], self.bottleneck_ratios[stage], self.group_widths[stage]
        where = f"architecture: stage {stage + 1}"
        if w % b:
            raise UserError(f"{where}: width {w} is not divisible by bottleneck ratio {b}")
        if w // b % g:
            raise UserError(
                f"{where}: bottleneck width {w // b} (width {w} / ratio {b}) is not divisible by "
                f"group width {g}"
            )
        if self.block != "bottleneck" and (b, g) != (1, w):
            raise UserError(
                f"{where}: {self.block} blocks have neither bottleneck nor groups: leave "
                f"bottleneck_ratios and group_widths out"
            )

    @property
    def id(self) -> str:
        """16 hexadecimal digits: a hash of the network, the same on every machine.

        `to_dict` has later fields only where they differ from their default, so that ids (and the
        runs' that are made of them) never change.
        """
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @property
    def bottleneck_widths(self) -> tuple[int, ...]:
        """Channels inside each stage's bottleneck."""
        return tuple(w // b for w, b in zip(self.widths, self.bottleneck_ratios, strict=True))

    @property
    def groups(self) -> tuple[int, ...]:
        """Number of groups of each stage's 3x3 convolutions."""
        return tuple(v // g for v, g in zip(self.bottleneck_widths, self.group_widths, strict=True))

    def flops(self, resolution: int = 224, classes: int = 1000) -> int:
        """Multiply-adds of convolutions and linear layers, for one image; biases not counted."""
        return self._cost("flops", resolution, classes)

    def parameters(self, classes: int = 1000) -> int:
        """Trainable parameters, those of batch norm and the head included."""
        return self._cost("parameters", 1, classes)

    def activations(self, resolution: int = 224, classes: int = 1000) -> int:
        """Output elements of convolutions and linear layers, for one image."""
        return self._cost("activations", resolution, classes)

    def _cost(self, name: str, *place: int) -> int:
        return int(complexity.measure(name, self.networks(), *checked(*place))[0])

    def training_memory(self, batch: int = 128, resolution: int = 224, classes: int = 1000) -> int:
        """Bytes that a training step on `batch` images takes in float32; see `memory`."""
        batch = whole_number(batch, "batch", 1, memory.MAX_BATCH)
        sizes = (*checked(resolution, classes), batch)
        return int(memory.training_memory(self.networks(), *sizes)[0])

    @property
    def skeleton(self) -> Skeleton:
        """Return what this network shares with others of its space."""
        return Skeleton(self.stem, self.stem_width, self.strides, self.block, self.se_ratio)

    def networks(self) -> Networks:
        """Return this architecture as a batch of one."""
        stages = (self.depths, self.widths, self.bottleneck_ratios, self.group_widths)
        return networks_of(stages, self.skeleton)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values: the inverse of `from_dict`.

        `block` and `se_ratio` are there only where they are not the default.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in LATER_FIELDS:
            if values[name] == getattr(Skeleton, name):
                del values[name]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Architecture":
        """Build from a mapping by field name; all but depths and widths may be left out.

        Raises UserError naming an unknown or missing key, or what cannot be built.
        """
        if not isinstance(values, Mapping):
            raise UserError(f"architecture: {reprlib.repr(values)} is not a mapping of its fields")
        legal = [field.name for field in fields(cls)]
        known_keys(values, "architecture", legal)
        missing = [key for key in ("depths", "widths") if key not in values]
        if missing:
            raise UserError(f"architecture: missing {', '.join(missing)}")
        return cls(**values)


def checked(resolution: int, classes: int) -> tuple[int, int]:
    """Refuse an image side or a number of classes that no network can have."""
    return (
        whole_number(resolution, "resolution", 1, MAX_RESOLUTION),
        whole_number(classes, "classes", 1, MAX_CLASSES),
    )


def _per_stage(values: Any, name: str, stages: int, high: int) -> tuple[int, ...]:
    return whole_numbers(values, f"architecture: {name}", stages, high)


def _left_out(values: Any) -> bool:
    return values is None or (isinstance(values, list | tuple) and not values)


def ids_of(networks: Networks) -> list[str]:
    """Return the id of each network: as `Architecture.id`, ten times as fast."""
    stages = networks.skeleton.stages
    ones = (1,) * stages
    values = Architecture(ones, ones, ones, ones, **vars(networks.skeleton)).to_dict()
    values |= dict.fromkeys(STAGE_FIELDS, ["%d"] * stages)
    template = json.dumps(values, sort_keys=True, separators=(",", ":")).replace('"%d"', "%d")
    first = (STAGE_FIELDS.index(field) * stages for field in sorted(STAGE_FIELDS))
    columns = [column + stage for column in first for stage in range(stages)]
    rows = zip(*networks.rows().T[columns].tolist(), strict=True)
    return [hashlib.sha256((template % row).encode()).hexdigest()[:16] for row in rows]


class Costs(NamedTuple):
    """The costs of a network for one image; the bytes of training are of a batch."""

    flops: int
    parameters: int
    activations: int
    training_memory: int


class NetworkPart(NamedTuple):
    """Stem, stage or head; what it does not have is None."""

    #: `stem`, `stage 1` and following, `head`.
    name: str
    blocks: int | None
    #: Channels that it puts out; of the head: classes.
    width: int
    bottleneck_width: int | None
    groups: int | None
    #: Side of the maps that it puts out, in pixels.
    side: int
    costs: Costs


def costs_by_part(
    architecture: Architecture, resolution: int = 224, classes: int = 1000, batch: int = 128
) -> list[NetworkPart]:
    """List the parts from stem to head; their costs add up to the architecture's.

    Training memory is that of `memory.training_memory`, for a batch of images.
    """
    checked(resolution, classes)
    whole_number(batch, "batch", 1, memory.MAX_BATCH)
    networks, a = architecture.networks(), architecture
    measures = (
        *(complexity.by_part(name, networks, resolution, classes) for name in complexity.MEASURES),
        memory.training_memory_by_part(networks, resolution, classes, batch),
    )
    columns = [np.concatenate([np.ravel(part) for part in parts]).tolist() for parts in measures]
    stem, *stages, head = (Costs(*row) for row in zip(*columns, strict=True))
    _, sides = map_sides(a.skeleton, resolution)
    grouped = a.block == "bottleneck"
    parts = [NetworkPart("stem", None, a.stem_width, None, None, sides[0], stem)]
    for stage, costs in enumerate(stages):
        v, groups = (a.bottleneck_widths[stage], a.groups[stage]) if grouped else (None, None)
        place = f"stage {stage + 1}", a.depths[stage], a.widths[stage]
        parts.append(NetworkPart(*place, v, groups, sides[stage + 1], costs))
    return [*parts, NetworkPart("head", None, classes, None, None, 1, head)]
