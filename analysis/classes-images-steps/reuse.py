"""Makes published runs of the study across domains runs of this study as well.

    anynet-study import analysis/cross-domain/release -o cross-domain.h5
    python analysis/classes-images-steps/reuse.py cross-domain.h5

Begins the study, and writes one journal of those runs that its sweep asks for, too. They are the
same runs: their ids say that architecture, data, recipe and seed are equal.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from anynet_study import ResultStore
from anynet_study.core.metrics import CURVES
from anynet_study.engine.dispatch import OpenStudy, open_sweep
from anynet_study.store import JournalWriter, RunRecord

SWEEP = Path(__file__).parents[2] / "sweeps" / "classes-images-steps.yaml"
#: Columns of the store that are no fields of a record.
OTHERS = ["planned", "epochs", "images", "journal"]


def records(study: OpenStudy, store: ResultStore) -> Iterator[RunRecord]:
    """A record of each planned run of `study` that is in the `store`."""
    runs = store.runs().set_index("run_id", drop=False)
    curves = dict(tuple(store.curves().groupby("run_id")))
    for dataset in dict.fromkeys(run.dataset for run in study.plan):
        known = [run for run in study.plan if run.dataset == dataset and run.run_id in runs.index]
        if not known:
            continue
        predicted, classes = store.predictions(dataset)
        row_of = {run_id: row for row, run_id in enumerate(predicted["run_id"])}
        for run in known:
            row = runs.loc[run.run_id].drop(OTHERS).to_dict()
            yield RunRecord(
                **row | run.named(),
                curves={n: curves[run.run_id][n].to_numpy(np.float32) for n in CURVES},
                predictions=classes[row_of[run.run_id]],
            )


def main(release: str) -> None:
    study = open_sweep(SWEEP)
    study.begin()
    place = study.folder.journals / "cross-domain.arrow"
    if place.exists():
        raise SystemExit(f"{place}: the runs are there already")
    with JournalWriter(place) as journal:
        count = 0
        for record in records(study, ResultStore(release)):
            journal.append(record)
            count += 1
    print(f"{count} of {len(study.plan)} runs are recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
