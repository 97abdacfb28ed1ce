"""What claims cost: 2,000 runs on 20 workers that train nothing.

    python -m benchmarks.claims

Begins a study of 500 architectures on four datasets, and lets 20 processes of `anynet-study work`
share it, in which a run is a second of sleep. Prints how much of a core claims took, by clocks
around each call of `Claims`: on a machine of few cores, 20 processes mostly wait for one. Exits
with 1 where a run was recorded twice or not at all, or where claims took 2% of a run's second.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from anynet_study.store import read_journals

SWEEP = """
name: claims
population:
  space: {base: anynetx, depths: [1, 4], widths: [8, 128], stem: cifar, stem_width: 8}
  count: 500
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {per_class: 10}
  gratings: {per_class: 10}
  blobs: {per_class: 10}
  digits-5: {base: digits, classes: 5, per_class: 10}
recipes: {basic: {steps: 3, batch_size: 16, crop: none}}
launch: {cluster: none}
"""
RUNS = 2000
MOST = 0.02
FAKE = Path(__file__).parents[1] / "tests/engine/dispatch/fake_workers.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "claims.yaml").write_text(SWEEP)
        environment = {**os.environ, "ANYNET_DATA": str(folder / "data")}
        launch = [sys.executable, "-m", "anynet_study", "launch", "claims.yaml"]
        subprocess.run(launch, cwd=folder, env=environment, check=True)
        study = folder / "studies/claims"
        command = [sys.executable, FAKE, study, options.workers, "--seconds", options.seconds]
        done = subprocess.run(
            [*map(str, command)], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        told = json.loads(done.stdout)
        runs = read_journals(study / "journals")["run_id"].to_pylist()
    begun, cpu, wall, lived, used = (sum(column) for column in zip(*told["workers"], strict=True))
    share = cpu / begun / options.seconds
    print(f"{len(runs)} runs in {told['seconds']:.0f} s on {options.workers} workers")
    print(
        f"claims: {1000 * cpu / begun:.2f} ms of a core per run, {100 * share:.2f}% of its length"
    )
    print(f"({100 * wall / lived:.2f}% of the workers' time with what they waited for a core)")
    print(f"a worker used {1000 * used / begun:.1f} ms per run beside training")
    whole = len(runs) == len(set(runs)) == RUNS
    if not whole:
        print("runs were lost or recorded twice")
    return int(not whole or share >= MOST)


if __name__ == "__main__":
    sys.exit(main())
