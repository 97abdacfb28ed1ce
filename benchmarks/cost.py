"""How well the cost of a run is predicted, on a finished study.

    python -m benchmarks.cost studies/quickstart

Prints measured over predicted seconds by dataset, and the constants of `dispatch.cost.CPU_CORE`
that would fit this machine best (non-negative least squares on relative error).
"""

import sys

import numpy as np
from scipy.optimize import nnls

from anynet_study.cli.prepared import reopen
from anynet_study.dispatch.cost import CPU_CORE, DeviceRate
from anynet_study.dispatch.plan import plan
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
    # The prediction is linear in the two constants' effects: one column each.
    parts = []
    for rate in (DeviceRate("", 1.0, 0.0), DeviceRate("", 1e30, 1.0)):
        planned = plan(prepared.sweep, prepared.population, prepared.views, rate)
        predicted = {run.run_id: run.seconds for run in planned}
        parts.append([predicted[run.run_id] for run in done])
    columns = np.array(parts).T / seconds[:, None]
    (per_multiply_add, per_block_step), _ = nnls(columns / columns.max(0), np.ones(len(done)))
    fitted = np.array([per_multiply_add, per_block_step]) / columns.max(0)
    error = 100 * np.median(abs(columns @ fitted - 1))
    speed = f"{1 / fitted[0]:.2g}" if fitted[0] else "unlimited"
    print(f"best fit: {speed} multiply-adds/s, {fitted[1]:.2g} s a block and step ({error:.0f}%)")
    print(
        f"in use:   {CPU_CORE.multiply_adds_per_second:.2g}, {CPU_CORE.seconds_per_block_step:.2g}"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.cost STUDY")
    main(sys.argv[1])
