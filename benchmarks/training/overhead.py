"""What a run costs beside its training: a study of tiny runs of one step, by one worker."""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from anynet_study.engine.dispatch import open_sweep, train_all
from anynet_study.engine.planning import make_plan
from anynet_study.engine.study_folder import StudyFolder
from anynet_study.store import read_journal

from .task import data_in

QUICKSTART = Path(__file__).parents[2] / "sweeps" / "quickstart.yaml"
RUNS = 20
ONE_STEP = (
    "recipes.basic.epochs=null",
    "recipes.basic.steps=1",
    "recipes.basic.warmup_epochs=0",
    "recipes.basic.datasets=[digits]",
    f"replicates.count={RUNS}",
    "replicates.architectures=1",
    "launch.workers=1",
)


@dataclass(frozen=True)
class Overhead:
    """In seconds."""

    #: From a worker's submission to the beginning of its first run: imports, journals, planning.
    worker: float
    #: A run of one step in a worker at work, with its test of all images and its row on disk.
    run: float


def overhead(folder: Path) -> Overhead:
    """Measure it in the new folder `folder`, on the smallest network of the quickstart."""
    with data_in(str(folder / "data")):
        prepared = open_sweep(QUICKSTART, ONE_STEP)
        flops = prepared.population.table["flops"].to_numpy()
        smallest = prepared.population.select([prepared.population.ids[int(np.argmin(flops))]])
        study = StudyFolder(folder / "study")
        replace(prepared, folder=study, population=smallest).begin()
        train_all(study, prepared.sweep, make_plan(prepared.sweep, smallest, prepared.views))
    (journal,) = study.journals.glob("*.arrow")
    starts = sorted(record.started for record in read_journal(journal).records)
    assert len(starts) == RUNS
    between = [later - earlier for earlier, later in pairwise(starts)]
    # The ledger gets its line as soon as the worker is submitted.
    return Overhead(starts[0] - study.jobs.stat().st_mtime, median(between))
