"""Sampling and complexity: candidates a second against plain loops, and whole populations.

    python -m benchmarks.sampling        (from the repository's folder; about a minute on 2 cores)

The ratio is that of candidate draws a second (draw, realise, cost, look at the band) to those of
`sampling_loops.published`, which follows a published tool step by step; beside it, that to the
same loop without a configuration system, and to the leanest loop that draws the same. All are
measured alternately, so that other work on the machine hits them alike; numbers are medians of
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
from benchmarks.sampling_loops import BAND, lean, published, unconfigured

ROUNDS = 9
LOOP_CANDIDATES = 300
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
        complexity.flops(networks, 224, 1000)
        complexity.parameters(networks, 1000)
        complexity.activations(networks, 224, 1000)

    return compute


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternately(rounds: int, work: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median of the seconds that each takes, of rounds over all of them."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds + 1):
        for name, function in work.items():
            times[name].append(seconds(function))
    return {name: statistics.median(all_[1:]) for name, all_ in times.items()}  # first: warm-up


def against_loops() -> None:
    """Measure candidates a second."""
    medians = alternately(
        ROUNDS,
        {
            "published": lambda: published(LOOP_CANDIDATES),
            "all cores": lambda: draw(CANDIDATES),
            "unconfigured": lambda: unconfigured(LOOP_CANDIDATES),
            "lean": lambda: lean(LOOP_CANDIDATES),
            "one thread": lambda: draw(CANDIDATES, threads=1),
        },
    )
    names = ("published", "unconfigured", "lean")
    loops = {name: LOOP_CANDIDATES / medians[name] for name in names}
    ours = {name: CANDIDATES / medians[name] for name in ("all cores", "one thread")}
    for name, rate in {**loops, **ours}.items():
        print(f"candidates a second, {name}: {rate:,.0f}")
    for name, rate in loops.items():
        ratios = [f"{ours[threads] / rate:,.0f} with {threads}" for threads in ours]
        print(f"ratio to the {name} loop: {', '.join(ratios)}")


def populations() -> None:
    """Measure whole populations: drawn, checked, named, tabulated."""
    spaces = {name: DesignSpace.from_spec(name) for name in SPACES}
    medians = alternately(
        5,
        {
            **{
                f"500 of {name} in process": partial(space.sample, 500, flops=BAND)
                for name, space in spaces.items()
            },
            "500 of the paper's from the command line": command_line,
            "complexities of a million architectures": cost(MILLION),
        },
    )
    for name, median in medians.items():
        print(f"{name}: {1000 * median:,.0f} ms")
    runs = [
        json.loads(subprocess.check_output([sys.executable, "-c", IN_A_PROCESS])) for _ in range(3)
    ]
    whole, mib, candidates = (statistics.median(column) for column in zip(*runs, strict=True))
    print(
        f"{LARGE:,} of the paper's ({candidates:,.0f} candidates): {whole:.1f} s, {mib:,.0f} MiB "
        f"at most; {candidates / whole:,.0f} candidates a second, all included"
    )


if __name__ == "__main__":
    against_loops()
    populations()
