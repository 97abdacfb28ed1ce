"""How well the cost of a run is predicted, on a finished study.

    python -m benchmarks.cost studies/quickstart

Prints measured over predicted seconds by dataset.
"""

import sys

import numpy as np

from anynet_study.cli.prepared import reopen
from anynet_study.store import ResultStore


def main(name: str) -> None:
    prepared = reopen(name)
    measured = ResultStore(prepared.study.results).runs().set_index("run_id")["seconds"]
    done = [run for run in prepared.planned if run.run_id in measured.index]
    seconds = measured[[run.run_id for run in done]].to_numpy()
    ratio = seconds / np.array([run.seconds for run in done])
    datasets = np.array([run.dataset for run in done])
    print(f"measured / predicted seconds ({len(done)} runs)")
    for dataset in dict.fromkeys(datasets):
        low, middle, high = np.percentile(ratio[datasets == dataset], [10, 50, 90])
        print(f"  {dataset:16} median {middle:5.2f}  (10% to 90%: {low:.2f} to {high:.2f})")
    print(f"  median error {100 * np.median(abs(ratio - 1)):.0f}%")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.cost STUDY")
    main(sys.argv[1])
