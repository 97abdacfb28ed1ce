"""Which evaluations of several stores count."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.store.evaluations.reading import evaluation_keys, evaluations_table
from anynet_study.store.union import Member

Mask = NDArray[np.bool_]


def united_evaluations(members: Sequence[Member]) -> list[tuple[Mask, Mask]]:
    """Of every store's evaluations, which are not in an earlier store; and which are planned.

    An evaluation is planned if the sweep of any store asks for it.
    """
    keys, planned = [], []
    for one in members:
        with one.file.open() as file:
            keys.append(evaluation_keys(file))
            planned.append(evaluations_table(file, ["planned"])["planned"].to_numpy())
    each = pa.concat_arrays(keys).dictionary_encode().indices.to_numpy()
    first = np.zeros(len(each), np.bool_)
    first[np.unique(each, return_index=True)[1]] = True
    asked = (np.bincount(each, np.concatenate(planned)) > 0)[each]
    ends = np.cumsum([len(key) for key in keys])[:-1]
    return list(zip(np.split(first, ends), np.split(asked, ends), strict=True))
