"""Makes published runs of earlier studies runs of a new study as well.

    anynet-study import analysis/cross-domain/release -o cross-domain.h5
    python analysis/reuse.py sweeps/classes-images-steps.yaml cross-domain.h5

Begins the study of the sweep, and writes one journal for each results store of those runs that the
sweep asks for, too. They are the same runs: their ids say that architecture, data, recipe and seed
are equal. A run that several stores have is taken from the first of them.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from anynet_study import ResultStore
from anynet_study.core.metrics import CURVES
from anynet_study.engine.dispatch import OpenStudy, open_sweep
from anynet_study.store import JournalWriter, RunRecord


def records(study: OpenStudy, store: ResultStore, wanted: set[str]) -> Iterator[RunRecord]:
    """A record of each planned run of `study` that is in the `store` and among those `wanted`."""
    runs = store.runs().set_index("run_id", drop=False)
    others = [name for name in runs if name not in RunRecord.__dataclass_fields__]
    curves = dict(tuple(store.curves().groupby("run_id")))
    planned = [run for run in study.plan if run.run_id in wanted & {*runs.index}]
    for dataset in dict.fromkeys(run.dataset for run in planned):
        predicted, classes = store.predictions(dataset)
        row_of = {run_id: row for row, run_id in enumerate(predicted["run_id"])}
        for run in planned:
            if run.dataset == dataset:
                row = runs.loc[run.run_id].drop(others).to_dict()
                yield RunRecord(
                    **row | run.named(),
                    curves={n: curves[run.run_id][n].to_numpy(np.float32) for n in CURVES},
                    predictions=classes[row_of[run.run_id]],
                )


def main(sweep: str, *stores: str) -> None:
    study = open_sweep(Path(sweep))
    study.begin()
    places = {Path(store): study.folder.journals / f"{Path(store).stem}.arrow" for store in stores}
    if there := [str(place) for place in places.values() if place.exists()]:
        raise SystemExit(f"{', '.join(there)}: the runs are there already")
    missing = set(study.plan.ids())
    for store, place in places.items():
        with JournalWriter(place) as journal:
            for record in records(study, ResultStore(store), missing):
                journal.append(record)
                missing.discard(record.run_id)
    print(f"{len(study.plan) - len(missing)} of {len(study.plan)} runs are recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
