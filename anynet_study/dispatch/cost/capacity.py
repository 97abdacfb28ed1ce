"""How many runs a GPU carries at the same time."""

from collections.abc import Mapping, Sequence

import numpy as np

from anynet_study.data import DatasetView
from anynet_study.design_space import Population
from anynet_study.dispatch.cost.features import Workload
from anynet_study.dispatch.cost.memory import GPU_MEMORY, run_bytes, runs_at_once, shared_bytes
from anynet_study.dispatch.planned import PlannedRun

#: More small networks at a time than this leave a GPU nothing to gain.
MOST = 8


def gpu_capacity(
    runs: Sequence[PlannedRun],
    population: Population,
    views: Mapping[str, DatasetView],
    free_bytes: int,
) -> int:
    """As many of any of `runs` as fit by prediction, with the largest of their datasets; 1 to MOST.

    `free_bytes`: of the GPU. What does not fit after all is noticed when it happens.
    """
    settings = {(run.dataset, run.spec.recipe) for run in runs}
    if not settings:
        return 1
    needed = np.max(
        [
            run_bytes(population.groups, Workload.on(views[label], recipe), GPU_MEMORY)
            for label, recipe in settings
        ],
        axis=0,
    )
    pixels = max(_pixels(views[label]) for label, _ in settings)
    shared = shared_bytes(pixels, GPU_MEMORY)
    if shared > free_bytes / 2:  # then the dataset is streamed
        shared = shared_bytes(0, GPU_MEMORY)
    return runs_at_once(needed, free_bytes, shared, MOST)


def _pixels(view: DatasetView) -> int:
    images = len(view.dataset.labels("train")) + len(view.dataset.labels("test"))
    return images * view.size**2
