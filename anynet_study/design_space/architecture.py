"""One architecture: what is built, what it costs, and its name."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from anynet_study.design_space import complexity
from anynet_study.design_space.networks import (
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_RESOLUTION,
    MAX_WIDTH,
    STAGES,
    STEMS,
    Networks,
    one_network,
)
from anynet_study.design_space.validation import known_keys, one_of, whole_number, whole_numbers
from anynet_study.errors import UserError


@dataclass(frozen=True)
class Architecture:
    """A residual bottleneck network of four stages; one value a stage in each tuple.

    Stem; then each stage is a number of blocks `x + f(x)`, f = 1x1 convolution to the bottleneck
    width, 3x3 convolution in groups, 1x1 back to the width; then average pool and a linear layer.
    The stride is in the 3x3 of a stage's first block, whose shortcut is a 1x1 convolution of that
    stride, unless stride 1 and equal widths allow the identity. This follows the code behind paper
    1, where its text (section 4.1) can be read differently: see `complexity`.

    Raises UserError for what cannot be built: nothing is rounded to fit. (Spaces draw freely and
    make draws compatible before they become an Architecture: `Networks.realised`.)
    """

    #: Blocks of each stage, at least 1.
    depths: tuple[int, ...]
    #: Channels that a stage's blocks put out.
    widths: tuple[int, ...]
    #: Width over bottleneck width: 4 means that the 3x3 runs on a quarter of the channels.
    bottleneck_ratios: tuple[int, ...]
    #: Channels in each group of the 3x3, so 1 is depthwise and the bottleneck width one group.
    group_widths: tuple[int, ...]
    strides: tuple[int, ...] = (1, 2, 2, 2)
    #: `imagenet` (7x7 stride 2, 3x3 max pool stride 2) or `cifar` (3x3 stride 1).
    stem: str = "imagenet"
    stem_width: int = 32

    def __post_init__(self) -> None:
        limits = {"depths": MAX_DEPTH, "strides": MAX_RESOLUTION}
        for name in ("depths", "widths", "bottleneck_ratios", "group_widths", "strides"):
            high = limits.get(name, MAX_WIDTH)
            values = whole_numbers(getattr(self, name), f"architecture: {name}", STAGES, high)
            object.__setattr__(self, name, values)
        one_of(self.stem, "architecture: stem", STEMS)
        width = whole_number(self.stem_width, "architecture: stem_width", 1, MAX_WIDTH)
        object.__setattr__(self, "stem_width", width)
        for stage in range(STAGES):
            self._check_stage(stage)

    def _check_stage(self, stage: int) -> None:
        w, b, g = self.widths[stage], self.bottleneck_ratios[stage], self.group_widths[stage]
        if w % b:
            raise UserError(
                f"architecture: stage {stage + 1}: width {w} is not divisible by "
                f"bottleneck ratio {b}"
            )
        if w // b % g:
            raise UserError(
                f"architecture: stage {stage + 1}: bottleneck width {w // b} (width {w} / ratio "
                f"{b}) is not divisible by group width {g}"
            )

    @property
    def id(self) -> str:
        """16 hexadecimal digits: a hash of the network, the same on every machine.

        A field that a later version adds enters `to_dict` only where it differs from its default,
        so that ids never change.
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
        return int(complexity.flops(self.networks(), *checked(resolution, classes))[0])

    def parameters(self, classes: int = 1000) -> int:
        """Trainable parameters, those of batch norm and the head included."""
        return int(complexity.parameters(self.networks(), checked(1, classes)[1])[0])

    def activations(self, resolution: int = 224, classes: int = 1000) -> int:
        """Output elements of convolutions and linear layers, for one image."""
        return int(complexity.activations(self.networks(), *checked(resolution, classes))[0])

    def networks(self) -> Networks:
        """Return this architecture as a batch of one."""
        stages = (self.depths, self.widths, self.bottleneck_ratios, self.group_widths)
        return one_network(stages, self.stem, self.stem_width, self.strides)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-able values: the inverse of `from_dict`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Architecture":
        """Build from a mapping with the field names as keys; the last three may be left out.

        Raises UserError naming an unknown or missing key, or what cannot be built.
        """
        if not isinstance(values, Mapping):
            raise UserError(f"architecture: {values!r} is not a mapping of its fields")
        legal = [field.name for field in fields(cls)]
        known_keys(values, "architecture", legal)
        missing = [key for key in legal[:4] if key not in values]
        if missing:
            raise UserError(f"architecture: missing {', '.join(missing)}")
        return cls(**values)


def checked(resolution: int, classes: int) -> tuple[int, int]:
    """Refuse an image side or a number of classes that no network can have."""
    return (
        whole_number(resolution, "resolution", 1, MAX_RESOLUTION),
        whole_number(classes, "classes", 1, MAX_CLASSES),
    )
