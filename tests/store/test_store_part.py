"""A part of a store beside the rows of the whole that its condition keeps."""

from pathlib import Path

import numpy as np
import pandas as pd
from store_factory import make_store, record

from anynet_study.store import ResultStore, StorePart


def test_a_part_of_a_store_has_the_curves_and_predictions_of_its_runs(tmp_path: Path) -> None:
    store = ResultStore(make_store(tmp_path, [record(number) for number in range(1, 18)])[0])
    part = StorePart(store, "d1 = 2 and error > 10")
    kept = store.runs(["run_id", "d1", "error"]).query("d1 == 2 and error > 10")["run_id"]
    assert 0 < len(kept) < 17
    assert part.runs()["run_id"].tolist() == kept.tolist()
    curves = store.curves()
    curves = curves[curves["run_id"].isin(kept)].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.curves(), curves)
    for dataset in part.datasets()["dataset"]:
        (runs, all_runs), (classes, every) = zip(
            part.predictions(dataset), store.predictions(dataset), strict=True
        )
        rows = np.flatnonzero(all_runs["run_id"].isin(kept))
        assert runs["run_id"].tolist() == all_runs["run_id"].iloc[rows].tolist()
        np.testing.assert_array_equal(classes, every[rows])
