"""Candidates a second: the vectorised sampler against a plain loop that draws one at a time.

    python benchmarks/sampling.py

The loop does what sampling tools of the field do: it draws each parameter with numpy's random
numbers, makes widths and groups compatible, sums FLOPs, parameters and activations block by
block, and looks whether the FLOPs are in the band. Both sides run in one process, alternately;
medians of five rounds are compared.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from anynet_study.design_space import DesignSpace, sampling

BAND = (360e6, 400e6)
ROUNDS = 5
LOOP_CANDIDATES = 500
CANDIDATES = 1 << 18
ARCHITECTURES = 500


def plain_loop(candidates: int) -> int:
    """Draw candidates one at a time; return how many of them are in the band."""
    random = np.random.RandomState(0)
    in_band = 0
    for _ in range(candidates):
        depths = [_log_uniform(random, 1, 16, 1) for _ in range(4)]
        widths = [_log_uniform(random, 8, 1024, 8) for _ in range(4)]
        ratios = [int(random.choice([1, 2, 4])) for _ in range(4)]
        group_widths = [int(random.choice([1, 2, 4, 8, 16, 32])) for _ in range(4)]
        for i in range(4):
            v = widths[i] // ratios[i]
            group_widths[i] = min(group_widths[i], v)
            widths[i] = max(1, round(v / group_widths[i])) * group_widths[i] * ratios[i]
        flops, _, _ = _complexity(list(zip(depths, widths, ratios, group_widths, strict=True)))
        in_band += BAND[0] <= flops <= BAND[1]
    return in_band


def _log_uniform(random: np.random.RandomState, low: int, high: int, step: int) -> int:
    drawn = np.exp(random.uniform(np.log(low - step / 2), np.log(high + step / 2)))
    return int(np.round(drawn / step)) * step


def _complexity(stages: list[tuple[int, int, int, int]]) -> tuple[int, int, int]:
    flops = parameters = activations = 0

    def add(w_in: int, w_out: int, kernel: int, side: int, groups: int = 1) -> None:
        nonlocal flops, parameters, activations
        weights = kernel * kernel * w_in * w_out // groups
        flops += weights * side * side
        parameters += weights + 2 * w_out
        activations += w_out * side * side

    add(3, 32, 7, 112)
    side, w_in = 56, 32
    for stage, (d, w, b, g) in enumerate(stages):
        for block in range(d):
            out = side // 2 if stage and not block else side
            if out != side or w_in != w:
                add(w_in, w, 1, out)
            add(w_in, w // b, 1, side)
            add(w // b, w // b, 3, out, w // b // g)
            add(w // b, w, 1, out)
            side, w_in = out, w
    return flops + w_in * 1000, parameters + (w_in + 1) * 1000, activations + 1000


def vectorised(candidates: int) -> int:
    """Draw candidates by the chunk; return how many of them are in the band."""
    request = sampling.request(DesignSpace.anynetx(), 1, BAND, 224, 1000, seed=0)
    stream = request.stream()
    chunks = range(candidates // sampling.CHUNK)
    return sum(len(request.inside(request.candidates(stream, sampling.CHUNK))) for _ in chunks)


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Measure both, print candidates a second and their ratio."""
    loop, drawing, whole = [], [], []
    for _ in range(ROUNDS):
        loop.append(seconds(lambda: plain_loop(LOOP_CANDIDATES)) / LOOP_CANDIDATES)
        drawing.append(seconds(lambda: vectorised(CANDIDATES)) / CANDIDATES)
        whole.append(seconds(lambda: DesignSpace.anynetx().sample(ARCHITECTURES, flops=BAND)))
    slow, fast = statistics.median(loop), statistics.median(drawing)
    print(f"plain loop: {1 / slow:,.0f} candidates/s; vectorised: {1 / fast:,.0f} candidates/s")
    milliseconds = statistics.median(whole) * 1e3
    print(f"{ARCHITECTURES} architectures of the paper's band, tabulated: {milliseconds:.0f} ms")
    print(f"ratio: {slow / fast:,.0f}")


if __name__ == "__main__":
    main()
