"""Sampling and complexity: candidates a second against a plain loop, and whole populations.

    python -m benchmarks.sampling        (from the repository's folder; about a minute on 2 cores)

The ratio is that of candidates a second (drawn, made compatible, costs counted, looked for in the
band) to those of `plain_loop`, which draws the same law one candidate at a time with numpy. All
are measured alternately, so that other work on the machine hits them alike; numbers are medians of
the rounds.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from anynet_study.design_space import SPACES, DesignSpace, complexity, sampling
from anynet_study.design_space.distribution import words_of

BAND = (360e6, 400e6)
LOOP_CANDIDATES = 1000
CANDIDATES = 1 << 21
MILLION = 1_000_000
LARGE = 100_000

#: Time and memory of a process that does nothing else.
IN_A_PROCESS = f"""
import json, resource, time
from anynet_study.design_space import DesignSpace
start = time.perf_counter()
population = DesignSpace.anynetx().sample({LARGE}, flops={BAND})
seconds = time.perf_counter() - start
mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([seconds, mib, population.sampling["candidates"]]))
"""


def plain_loop(candidates: int) -> int:
    """Draw candidates of the paper's space one at a time; return how many are in the band."""
    random = np.random.default_rng(0)
    in_band = 0
    for _ in range(candidates):
        stages = []
        for _ in range(4):
            depth, width = log_uniform(random, 1, 16, 1), log_uniform(random, 8, 1024, 8)
            ratio, group = 2 ** int(random.integers(3)), 2 ** int(random.integers(6))
            group = min(group, width // ratio)
            width = round(width / ratio / group) * group * ratio
            stages.append((depth, width, ratio, group))
        in_band += BAND[0] <= flops(stages) <= BAND[1]
    return in_band


def log_uniform(random: np.random.Generator, low: int, high: int, step: int) -> int:
    start = low - min(step, low / 2)
    return int(np.ceil(np.exp(random.uniform(np.log(start), np.log(high))) / step)) * step


def flops(stages: list[tuple[int, int, int, int]]) -> int:
    """Multiply-adds at 224 pixels and 1000 classes, block by block."""
    side, w_in, total = 56, 32, 3 * 32 * 7**2 * 112**2
    for stage, (d, w, b, g) in enumerate(stages):
        v = w // b
        for block in range(d):
            out = side // 2 if stage and not block else side
            total += w_in * v * side**2 + (9 * g * v + v * w) * out**2
            total += w_in * w * out**2 if out != side or w_in != w else 0
            side, w_in = out, w
    return total + w_in * 1000


def draw(candidates: int, threads: int | None = None) -> None:
    """Look at so many candidates of the paper's band, as `sampling.sample` does."""
    bounds = {"flops": BAND, "parameters": None, "activations": None}
    request = sampling.request(DesignSpace.anynetx(), 1, bounds, 224, 1000, seed=0)
    seen = 0
    for chunk in sampling.chunks(request, threads=threads):
        seen += chunk.candidates
        if seen >= candidates:
            return


def command_line() -> None:
    """Sample the paper's population from the command line."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "population.parquet")
        command = [sys.executable, "-m", "anynet_study", "sample", "sweeps/paper.yaml", "-o", out]
        subprocess.run(command, check=True, capture_output=True)


def cost(rows: int) -> Callable[[], None]:
    """Return what computes all complexities of so many networks."""
    space = DesignSpace.anynetx()
    drawn, _ = space.draw(words_of(0, 0, rows, space.words))
    networks = drawn.select(np.arange(rows))

    def compute() -> None:
        for name in complexity.MEASURES:
            complexity.measure(name, networks, 224, 1000)

    return compute


def alternately(rounds: int, work: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median of the seconds that each takes, of rounds over all of them."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds + 1):
        for name, function in work.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each[1:]) for name, each in times.items()}  # first: warm-up


def main() -> None:
    medians = alternately(
        9,
        {
            "plain loop": lambda: plain_loop(LOOP_CANDIDATES),
            "all cores": lambda: draw(CANDIDATES),
            "one thread": lambda: draw(CANDIDATES, threads=1),
        },
    )
    loop = LOOP_CANDIDATES / medians.pop("plain loop")
    print(f"candidates a second, plain loop: {loop:,.0f}")
    for name, median in medians.items():
        rate = CANDIDATES / median
        print(f"candidates a second, {name}: {rate:,.0f} ({rate / loop:,.0f} x)")
    spaces = {name: DesignSpace.from_spec(name) for name in SPACES}
    populations: dict[str, Callable[[], object]] = {
        f"500 of {name} in process": partial(space.sample, 500, flops=BAND)
        for name, space in spaces.items()
    }
    populations["500 of the paper's from the command line"] = command_line
    populations["complexities of a million architectures"] = cost(MILLION)
    for name, median in alternately(5, populations).items():
        print(f"{name}: {1000 * median:,.0f} ms")
    runs = [
        json.loads(subprocess.check_output([sys.executable, "-c", IN_A_PROCESS])) for _ in range(3)
    ]
    whole, mib, candidates = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"{LARGE:,} of the paper's ({candidates:,.0f} candidates): {whole:.1f} s, {mib:,.0f} MiB")


if __name__ == "__main__":
    main()
