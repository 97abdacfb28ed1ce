"""Predictions of evaluations, from the store of the last collect."""

from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from anynet_study.store.ragged import interleaved
from anynet_study.store.remembered import recalling
from anynet_study.store.sources import Rows

#: Arrays of an evaluation.
ARRAYS = ("predictions",)


class StoredEvaluations:
    """Evaluations as an earlier store has them."""

    def __init__(self, file: h5py.File, place: Rows) -> None:
        """`place`: the row of each in the earlier store. Raises ForgottenError as `arrays`."""
        self._place = place
        with recalling():
            self._images = file["evaluations/predicted"][()].astype(np.int64)
            self._groups = [
                (group["row"][()], group["classes"])
                for groups in file["evaluations/predictions"].values()
                for group in groups.values()
            ]

    def arrays(self, rows: Rows) -> Mapping[str, NDArray[Any]]:
        """Raises ForgottenError where the store is damaged."""
        place = self._place[rows]
        parts = [(np.empty(0, np.int64), np.empty(0, np.uint16))]
        with recalling():
            for there, classes in self._groups:
                mine = np.flatnonzero(np.isin(place, there))
                if mine.size:
                    lines = np.searchsorted(there, place[mine])
                    values = classes[lines.min() : lines.max() + 1][lines - lines.min()]
                    known = np.arange(values.shape[1]) < self._images[place[mine]][:, None]
                    parts.append((mine, values[known]))
        return {"predictions": interleaved(parts, self._images[place])}
