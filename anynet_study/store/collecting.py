"""Journals to results store: settle duplicates, order the runs, build the file, swap it in."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.building import build
from anynet_study.store.opening import NewerStoreError, open_store, opened
from anynet_study.store.order import RunNames
from anynet_study.store.remembered import ForgottenError
from anynet_study.store.reporting import CollectReport, Known, report_of
from anynet_study.store.settling import Sweep, find, settle
from anynet_study.store.turns import one_at_a_time

#: A temporary file this old, in seconds, was left by a collect that was killed.
STALE = 3600.0


#: How long to wait for another collect of the same store, in seconds.
PATIENCE = 900.0


def collect(
    journals: Path,
    out: Path,
    population: pa.Table,
    datasets: pa.Table,
    planned: Mapping[str, RunNames] | Collection[str] | None,
    provenance: Mapping[str, str],
    recipes: Sequence[str] = (),
    anew: bool = False,
    truths: Mapping[str, NDArray[np.integer]] | None = None,
    evaluations: Mapping[str, str] | None = None,
) -> CollectReport:
    """Build the results store `out` from a folder of journals and swap it in.

    `population` and `datasets` become /architectures and /datasets and give the order of the runs
    (`layout`), `recipes` that of the sweep, the main one first; `planned` are the run_ids that the
    sweep asks for, None meaning every run; as a mapping it also says what they are called now.
    `truths` are the true classes of datasets' test images, kept with the predictions on them.
    `evaluations` is what the sweep calls every evaluation_id that it asks for, in its order; None:
    it asks for all, and what began first is first. Of several records of one evaluation of a run,
    the first by (started, journal) is kept; those of a run without a record wait for it.

    Of the journals, what is new since the store that is there is read, or all with `anew`; the
    result is the same, but that `anew` also replaces what cannot be read as a store. The arrays of
    a few dozen MB of runs are in memory at a time. An old store with runs or evaluations that no
    journal has any more, or that cannot be read, is kept beside the new one, as
    `results-kept-1.h5` or so.

    Raises UserError if `out` is a newer store or, without `anew`, none of ours; UserError or
    OSError if a journal cannot be read or the store not written: then the old one stays as it was.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(out)
    sweep = Sweep(population, datasets, planned, provenance, recipes, evaluations, truths or {})
    with one_at_a_time(out.parent, PATIENCE), _earlier(out, anew) as earlier:
        known = Known.of(earlier)
        unreadable = earlier is None and out.exists()
        found = find(journals, None if anew else earlier)
        settled = settle(sweep, found)
        try:
            aside = build(out, sweep, found, settled, known, unreadable)
        except ForgottenError:  # the store that is there is damaged
            found = find(journals, None)
            settled = settle(sweep, found)
            aside = build(out, sweep, found, settled, known, unreadable)
    return report_of(settled, found, journals, known, aside)


@contextmanager
def _earlier(out: Path, anew: bool) -> Iterator[h5py.File | None]:
    """The store that is there, if any.

    Raises UserError if it is newer or, unless all is made `anew`, cannot be read as one of ours.
    """
    if not out.exists() or (anew and not _is_readable(out)):
        yield None
        return
    with open_store(out):
        pass
    with opened(out) as file:
        yield file


def _is_readable(out: Path) -> bool:
    try:
        with open_store(out):
            return True
    except NewerStoreError:
        raise
    except UserError:
        return False


def _remove_stale(out: Path) -> None:
    """Remove what a killed collect left; nobody else's temporary file stays unwritten so long."""
    for path in out.parent.glob(f".{out.name}.*.tmp"):
        if time.time() - path.stat().st_mtime > STALE:
            path.unlink(missing_ok=True)
