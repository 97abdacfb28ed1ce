"""The sampler and the complexities once more: one candidate, one block, one number at a time."""

from collections.abc import Iterator, Sequence

import numpy as np

from anynet_study.design_space import Architecture, DesignSpace


def complexity(a: Architecture, resolution: int, classes: int) -> tuple[int, int, int]:
    """FLOPs, parameters and activations, summed over the layers of the network."""
    flops = parameters = activations = 0
    side = resolution

    def convolution(w_in: int, w_out: int, kernel: int, stride: int, groups: int = 1) -> None:
        nonlocal flops, parameters, activations, side
        side = (side + 2 * (kernel // 2) - kernel) // stride + 1
        weights = kernel * kernel * (w_in // groups) * w_out
        flops += weights * side * side
        parameters += weights + 2 * w_out
        activations += w_out * side * side

    if a.stem == "imagenet":
        convolution(3, a.stem_width, 7, 2)
        side = (side - 1) // 2 + 1
    else:
        convolution(3, a.stem_width, 3, 1)
    w_in = a.stem_width
    for d, w, b, g, s in zip(
        a.depths, a.widths, a.bottleneck_ratios, a.group_widths, a.strides, strict=True
    ):
        for block in range(d):
            stride = s if block == 0 else 1
            if stride != 1 or w_in != w:
                before = side
                convolution(w_in, w, 1, stride)
                side = before
            convolution(w_in, w // b, 1, 1)
            convolution(w // b, w // b, 3, stride, w // b // g)
            convolution(w // b, w, 1, 1)
            w_in = w
    return flops + w_in * classes, parameters + (w_in + 1) * classes, activations + classes


def words(seed: int) -> Iterator[float]:
    """The stream's 32-bit words as numbers in (0, 1): each 64-bit word's low half first."""
    stream = np.random.Philox(key=seed)
    while True:
        raw = int(stream.random_raw())
        for half in (raw & 0xFFFFFFFF, raw >> 32):
            yield (half + 0.5) / 2**32


def candidate(space: DesignSpace, stream: Iterator[float]) -> Architecture:
    """The next candidate, realised."""

    def log_uniform(bounds: Sequence[int], step: int) -> int:
        low, high = bounds[0] - step / 2, bounds[1] + step / 2
        return step * int(low * (high / low) ** next(stream) / step + 0.5)

    def uniform(values: Sequence[int]) -> int:
        return values[int(next(stream) * len(values))]

    depths = [log_uniform(space.depths, 1) for _ in range(4)]
    widths = [log_uniform(space.widths, space.width_divisor) for _ in range(4)]
    ratios = [uniform(space.bottleneck_ratios) for _ in range(4)]
    group_widths = [uniform(space.group_widths) for _ in range(4)]
    for i in range(4):
        v = widths[i] // ratios[i]
        group_widths[i] = min(group_widths[i], v)
        widths[i] = max(1, round(v / group_widths[i])) * group_widths[i] * ratios[i]
    stages = map(tuple, (depths, widths, ratios, group_widths))
    return Architecture(*stages, space.strides, space.stem, space.stem_width)


def sample(
    space: DesignSpace, count: int, band: tuple[float, float], resolution: int, classes: int
) -> tuple[list[Architecture], int, int]:
    """The first `count` different candidates of seed 0 in the band; how many seen and in band."""
    stream = words(seed=0)
    kept: list[Architecture] = []
    examined = in_band = 0
    while len(kept) < count:
        one = candidate(space, stream)
        examined += 1
        if band[0] <= complexity(one, resolution, classes)[0] <= band[1]:
            in_band += 1
            if one not in kept:
                kept.append(one)
    return kept, examined, in_band
