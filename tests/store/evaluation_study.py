"""A study with evaluations, as its records and as the store of them."""

from pathlib import Path
from typing import Any

import numpy as np
from evaluation_factory import evaluation, write_evaluations
from store_factory import datasets, population, record, write_journal

from anynet_study.store import CollectReport, collect

#: Every architecture twice on digits, but the last; once on the others.
RUNS = [record(n) for n in (0, 3, 6, 9, 12, 1, 2)]
NONE = np.empty(0, np.uint16)
#: Both of the runs on digits, but one; of another dataset one, without predictions.
EVALUATIONS = [
    *(evaluation(n, "shifted", error=50.0 + n) for n in (0, 3, 6, 9)),
    *(evaluation(n, "blur") for n in (0, 3, 6, 9, 12)),
    evaluation(1, "blur", predictions=NONE),
]
COLUMNS = [
    *("run_id", "architecture", "dataset", "recipe", "replicate", "evaluation", "evaluation_id"),
    *("images", "loss", "top1", "top5", "error", "seconds"),
]


def gather(folder: Path, out: str = "results.h5", **options: Any) -> CollectReport:
    planned = options.pop("planned", None)
    place = folder / out
    return collect(folder / "journals", place, population(), datasets(), planned, {}, **options)


def make_evaluated(folder: Path) -> Path:
    """Journals of these runs and evaluations in `folder`, collected to its `results.h5`."""
    write_journal(folder / "journals" / "a.arrow", RUNS)
    for number in range(2):
        write_evaluations(
            folder / "journals" / f"{number}.evaluations.arrow", EVALUATIONS[number::2]
        )
    gather(folder)
    return folder
