"""How far a training step is from what the CPU can do, and where the rest of its time goes.

    python -m benchmarks.roofline [NETWORKS]            (default 2 of each workload; half a minute)

One thread, the rewritten networks of `benchmarks.rewrites` at 32 pixels. The limits are measured
first: floating-point operations a second in a large matrix product, and bytes a second in a copy of
a large array. Of each step are told: its own operations a second; the share of its time in which
the matrix product would do all of them; the share in which a copy would move every map of the
network `MOVED` times. Then the shares of torch's profiler, which counts an operator without those
that it calls: products and convolutions, batch norms, other operators of torch's, and the rest,
which is Python, autograd and memory. The profiler itself makes small steps longer.
"""

import sys
import time
from collections.abc import Callable
from statistics import median

import pandas as pd
import torch
from torch.profiler import ProfilerActivity, profile

from anynet_study.engine.dispatch import keep_freed_memory
from anynet_study.engine.models import accelerate, backend_here, build
from benchmarks.rewrites import Workload, step, workloads

STEPS = 10
#: A map is written by its convolution, read twice and written by the norm, and read by the next
#: layer; on the way back its gradient is read twice and written once, read twice by products, and
#: the map is read twice. No fewer passes are needed if a pass does not stay in a cache.
MOVED = 12
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::mkldnn_convolution")
BACKWARD = "aten::convolution_backward"


def seconds(work: Callable[[], object], calls: int = STEPS) -> float:
    """Median CPU seconds of some calls, after as many others."""
    found = []
    for _ in range(2 * calls):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return median(found[calls:])


def limits() -> tuple[float, float]:
    """Operations and bytes a second."""
    side, one = 2048, torch.randn(2048, 2048)
    array, copied = torch.randn(1 << 26), torch.empty(1 << 26)
    operations = 2 * side**3 / seconds(lambda: one @ one)
    return operations, 2 * array.nbytes / seconds(lambda: copied.copy_(array))


def kind_of(operator: str) -> str:
    if operator.rstrip("_") in (*PRODUCTS, BACKWARD):
        return "products"
    if "batch_norm" in operator:
        return "norms"
    # Asking for memory is counted as an operator.
    return "other operators" if operator.startswith("aten::") and "empty" not in operator else ""


def told(work: Workload, operations: float, bandwidth: float) -> pd.DataFrame:
    """A row for each network."""
    rows = []
    for a in work.architectures:
        network = build(a, 10, torch.Generator().manual_seed(0))
        accelerate(network, work.resolution, backend_here())
        size = work.batch, 3, work.resolution, work.resolution
        images = torch.randn(size).to(memory_format=torch.channels_last)
        labels = torch.randint(10, (work.batch,))
        taken = seconds(lambda: step(network, images, labels))  # noqa: B023
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            for _ in range(STEPS):
                step(network, images, labels)
        shares = dict.fromkeys(("products", "norms", "other operators", ""), 0.0)
        for event in profiled.key_averages():
            shares[kind_of(event.key)] += event.self_cpu_time_total
        whole = sum(shares.values())
        # Forward, and backward by maps and by weights.
        needed = 3 * 2 * a.flops(work.resolution, 10) * work.batch
        moved = MOVED * 4 * a.activations(work.resolution, 10) * work.batch
        rows.append(
            {
                "workload": work.name,
                "ms": 1000 * taken,
                "GFLOP/s": needed / taken / 1e9,
                "at the product's speed": needed / operations / taken,
                "at a copy's": moved / bandwidth / taken,
                **{name or "the rest": share / whole for name, share in shares.items()},
            }
        )
    return pd.DataFrame(rows)


def main(count: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    keep_freed_memory()
    operations, bandwidth = limits()
    print(f"torch {torch.__version__}, {backend_here()}")
    print(f"{operations / 1e9:.0f} GFLOP/s in a product, {bandwidth / 1e9:.0f} GB/s in a copy\n")
    table = pd.concat(told(work, operations, bandwidth) for work in workloads(count, [32]))
    print(table.to_string(index=False, float_format="{:.2f}".format))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
