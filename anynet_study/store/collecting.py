"""Journals to results store: deduplicate the records, order them, write the file, swap it in."""

import fcntl
import os
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.core import arrow
from anynet_study.core.errors import UserError
from anynet_study.core.files import replacing
from anynet_study.core.metrics import to_words
from anynet_study.store.contradictions import OTHER_LABELS, contradicted
from anynet_study.store.deduplicate import (
    Arranged,
    EvaluationNames,
    RunNames,
    arrange,
    codes_of,
    deduplicate,
    disagreeing,
    evaluation_keys,
    renamed,
    split,
)
from anynet_study.store.hdf5 import DAMAGE, creating
from anynet_study.store.journal import Mark, read_journals
from anynet_study.store.opening import NewerStoreError, open_store, opened
from anynet_study.store.predictions import Truth
from anynet_study.store.records import KINDS
from anynet_study.store.run_arrays import RunArrays
from anynet_study.store.tables import (
    evaluations_table,
    read_table,
    run_column,
)
from anynet_study.store.write import Contents, write_store

#: A temporary file this old, in seconds, was left by a collect that was killed.
STALE = 3600.0
#: How long to wait for another collect of the same store, in seconds.
PATIENCE = 900.0
SECONDS_BETWEEN_TRIES = 0.05


@dataclass(frozen=True)
class CollectReport:
    """Counts of one collect; all but `duplicates` are of runs."""

    runs: int
    #: Not in the store that this one replaced.
    new: int
    #: Records that were not kept, as the store has another record of the same run.
    duplicates: int
    #: Not asked for by the sweep: kept, not analysed.
    unplanned: int
    failed: int
    #: One line for each journal or file that is not as it should be, beginning with its name.
    problems: list[str]
    #: Evaluations of runs on further test sets that are in the store.
    evaluations: int = 0


@dataclass(frozen=True)
class Asked:
    """The statements of a sweep about its store; the fields are arguments of `collect`."""

    population: pa.Table
    datasets: pa.Table
    planned: Mapping[str, RunNames] | Collection[str] | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    recipes: Sequence[str] = ()
    evaluations: Mapping[str, EvaluationNames] | None = None
    trials: pa.Table | None = None


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
    evaluations: Mapping[str, EvaluationNames] | None = None,
    trials: pa.Table | None = None,
) -> CollectReport:
    """Build the results store `out` from a folder of journals and swap it in.

    `population` and `datasets` become /architectures and /datasets and give the order of the runs
    (`layout`), `recipes` that of the sweep, the main one first; `planned` are the run_ids that the
    sweep asks for, None meaning every run; as a mapping it also says what they are called now.
    `truths` are the true classes of datasets' test images, kept with the predictions on them.
    `evaluations` is what the sweep calls every evaluation_id that it asks for, and its kind, in the
    sweep's order; None: it asks for all, and what began first is first. `trials` says of runs of
    tuned recipes which trial each is (`layout`: /trials). Of several records of a run or an
    evaluation one is kept (`deduplicate`); evaluations of a run without a record wait for it.

    All journals are read every time, and the file is built anew. The records are in memory, and
    the arrays of a few dozen MB of them. `anew`: an old store with runs or evaluations that no
    journal has any more, or that cannot be read, is kept beside the new one, as
    `results-kept-1.h5` or so.

    Raises UserError if `out` is a newer store or, unless it is to be made `anew`, none of ours, or
    one with runs or evaluations that no journal has; UserError or OSError if a journal cannot be
    read or the store not written: then the old one stays as it was.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(out)
    asked = Asked(population, datasets, planned, provenance, recipes, evaluations, trials)
    with _lock(out.parent), replacing(out) as temporary, RunArrays(out) as arrays:
        known = _Known.of(out, anew)
        collected = Collected(journals, asked, arrays)
        labels = {name: collected.truth(name, classes) for name, classes in (truths or {}).items()}
        with creating(temporary, out) as file:
            write_store(file, collected.contents(labels), collected.arranged, arrays)
            unlike = [f"{name}: {OTHER_LABELS}" for name in contradicted(file)]
        # Last, when nothing but the swap is left: a build that fails keeps nothing aside.
        kept = known.kept_aside(out, collected, anew)
    made = collected.report(known, kept)
    return replace(made, problems=[*unlike, *made.problems])


def is_behind(results: Path, journals: Path) -> bool:
    """Tell whether journals hold more than when a store was collected from them: one is new, or
    grew.

    Raises UserError as `open_store`.
    """
    with open_store(results) as file:
        known = read_table(file, "journals", ["journal", "bytes"])
    sizes = dict(zip(*(column.to_pylist() for column in known.columns), strict=True))
    paths = (path for kind in KINDS for path in kind.paths(journals))
    return any(path.stat().st_size > sizes.get(path.name, 0) for path in paths)


class Collected:
    """The records of a folder of journals, named as in the sweep, in the order of a store."""

    def __init__(self, journals: Path, asked: Asked, arrays: RunArrays) -> None:
        """Reads the journals, and adds the arrays of all records to `arrays`.

        Raises UserError or OSError as `read_journals` does.
        """
        self.folder = journals
        self.problems: dict[str, str] = {}
        self.paths = [path for kind in KINDS for path in kind.paths(journals)]
        #: In bytes before they are read: what is written meanwhile may not be among the records.
        self.sizes = [path.stat().st_size for path in self.paths]
        self.marks: dict[str, Mark] = {}
        self.records = read_journals(
            self.paths, problems=self.problems, arrays=arrays, marks=self.marks
        )
        self._asked = asked
        every = split(self.records)
        runs, evaluations = deduplicate(*every)
        #: By journal, in a line, what it says otherwise than the records that count.
        self.twice: dict[str, str] = {}
        for records, kept in zip(every, (runs, evaluations), strict=True):
            self.twice |= disagreeing(records, kept)
        there = arrow.among(evaluations["run_id"], runs["run_id"])
        self.waiting = int((~there).sum())
        self.arranged = self._arranged(runs, evaluations.filter(arrow.numbers(there)))

    def _arranged(self, runs: pa.Table, evaluations: pa.Table) -> Arranged:
        asked = self._asked
        planned, names = asked.planned, asked.evaluations
        mine = (
            np.ones(len(runs), np.bool_)
            if planned is None
            else arrow.among(runs["run_id"], planned)
        )
        runs = runs.append_column("planned", arrow.numbers(mine))
        tested = arrow.among(evaluations["run_id"], runs.filter(arrow.numbers(mine))["run_id"])
        if names is not None:
            tested = tested & arrow.among(evaluations["evaluation_id"], names)
        evaluations = evaluations.append_column("planned", arrow.numbers(tested))
        if isinstance(planned, Mapping):
            runs = renamed(runs, "run_id", planned, ("dataset", "recipe", "replicate"))
        if names:
            evaluations = renamed(evaluations, "evaluation_id", names, ("evaluation", "kind"))
        first = {
            "architecture": asked.population["architecture"].to_pylist(),
            "dataset": asked.datasets["dataset"].to_pylist(),
            "recipe": asked.recipes,
            "evaluation": [name for name, _ in (names or {}).values()],
        }
        return arrange(runs, evaluations, first)

    def contents(self, truths: Mapping[str, Truth]) -> Contents:
        """Return what goes into the store besides the records."""
        asked = self._asked
        return Contents(
            architectures=asked.population,
            datasets=asked.datasets,
            journals=self._journals(),
            provenance=asked.provenance,
            planned_runs=-1 if asked.planned is None else len(asked.planned),
            truths=truths,
            trials=asked.trials,
        )

    def _journals(self) -> pa.Table:
        """The table /journals: the counts of records in each journal, and of those not kept."""
        names = [path.name for path in self.paths]
        runs, evaluations = self.arranged.runs, self.arranged.evaluations
        records = _counted([self.records["journal"]], names)
        kept = _counted([runs["journal"], evaluations["journal"]], names)
        marks = [self.marks[name] for name in names]
        return pa.table(
            {
                "journal": arrow.texts(names),
                "records": arrow.numbers(records),
                "duplicates": arrow.numbers(records - kept),
                "bytes": arrow.numbers(np.array(self.sizes, np.int64)),
                "problem": arrow.texts("; ".join(self._said(name)) for name in names),
                "end": arrow.numbers(np.array([mark.end for mark in marks], np.int64)),
                "crc32": arrow.numbers(np.array([mark.crc32 for mark in marks], np.int64)),
            }
        )

    def truth(self, dataset: str, classes: NDArray[np.integer]) -> Truth:
        """A dataset's labels; None if it has predictions of runs that the sweep does not ask for.

        Those may have been made on other images under the same name. `classes` is (images,), or
        (images, classes) of zeros and ones.
        """
        kind = "class"
        if classes.ndim == 2:
            kind, classes = "labels", to_words(classes)
        runs = self.arranged.runs
        on_it = arrow.among(runs["dataset"], [dataset]) & (arrow.to_numpy(runs["predicted"]) > 0)
        runs = runs.filter(arrow.numbers(on_it))
        fits = pc.max(runs["predicted"]).as_py() == len(classes)
        of_sweep = bool(arrow.to_numpy(runs["planned"]).all())
        return Truth(kind, classes.astype(np.uint16) if fits and of_sweep else None)

    def report(self, known: "_Known", kept: str) -> CollectReport:
        """The report; `kept` is the line on the store that was kept aside, or ""."""
        runs, evaluations = self.arranged.runs, self.arranged.evaluations
        count = int(arrow.among(self.records["record_kind"], ["run"]).sum())
        waiting = f"journals: {self.waiting} evaluations of runs without a record wait for it"
        notes = [waiting] * bool(self.waiting) + [kept] * bool(kept)
        return CollectReport(
            runs=len(runs),
            new=int((~arrow.among(runs["run_id"], known.runs)).sum()),
            duplicates=count - len(runs),
            unplanned=int((~arrow.to_numpy(runs["planned"])).sum()),
            failed=int(arrow.among(runs["status"], ["failed"]).sum()),
            problems=[*self._problems(), *notes],
            evaluations=len(evaluations),
        )

    def _problems(self) -> list[str]:
        names = [path.name for path in self.paths]
        said = [f"{name}: {line}" for name in names for line in self._said(name)]
        return said + [f"{path.name}: not a journal; ignored" for path in self.strangers()]

    def _said(self, name: str) -> list[str]:
        """Return what is to be said of a journal, in lines."""
        return [told[name] for told in (self.problems, self.twice) if name in told]

    def strangers(self) -> list[Path]:
        """Files in the folder of journals that are not journals."""
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        mine = (path for path in there if not any(kind.owns(path) for kind in KINDS))
        return sorted(path for path in mine if not path.name.startswith("."))


def _counted(columns: Sequence[pa.ChunkedArray], names: Sequence[str]) -> NDArray[np.int64]:
    """Tell how often each of these names is in the columns."""
    places = np.concatenate([codes_of(column, names) for column in columns])
    return np.bincount(places, minlength=len(names))


@dataclass(frozen=True)
class _Known:
    """The runs and evaluations in the store that a collect replaces."""

    runs: pa.Array
    #: Texts of `evaluation_keys`.
    evaluations: pa.Array
    #: There is a file, but it is no store that can be read.
    unreadable: bool = False

    @classmethod
    def of(cls, out: Path, anew: bool) -> Self:
        """Return what the store at `out` has; nothing if it cannot be read.

        Raises UserError if it is a newer store or, unless all is made `anew`, none of ours.
        """
        nothing = pa.nulls(0, pa.string())
        if not out.exists():
            return cls(nothing, nothing)
        try:
            with open_store(out):
                pass
        except NewerStoreError:
            raise
        except UserError:
            if not anew:
                raise
            return cls(nothing, nothing, unreadable=True)
        with suppress(*DAMAGE, UserError), opened(out) as file:
            runs = run_column(file, "run_id")
            evaluations = evaluations_table(file, ["run_id", "evaluation_id"])
            return cls(runs, arrow.whole(evaluation_keys(evaluations)))
        return cls(nothing, nothing)

    def kept_aside(self, out: Path, found: Collected, anew: bool) -> str:
        """Keep the store at `out` under a second name if the new store lacks something of it.

        Returns a line that says so, or "" if nothing had to be kept. Raises UserError if it lacks
        something, and is not to be made `anew`.
        """
        arranged = found.arranged
        counts = {
            "runs": int((~arrow.among(self.runs, arranged.runs["run_id"])).sum()),
            "evaluations": int(
                (~arrow.among(self.evaluations, evaluation_keys(arranged.evaluations))).sum()
            ),
        }
        gone = " and ".join(f"{number} {what}" for what, number in counts.items() if number)
        if not gone and not self.unreadable:
            return ""
        if gone and not anew:
            raise UserError(
                f"{found.folder}: {gone} of {out.name} are in no journal (any more); to write them "
                f"again: collect --restore; to make {out.name} without: collect --anew"
            )
        kept = _second_name(out)
        if not gone:
            return f"the store before could not be read; kept: {kept.name}"
        return f"journals: {gone} of the store before are in none any more; kept: {kept.name}"


def _second_name(out: Path) -> Path:
    """Give the store a second name, under which it stays when it is replaced."""
    names = (out.with_name(f"{out.stem}-kept-{number}{out.suffix}") for number in count(1))
    kept = next(path for path in names if not path.exists())
    try:
        os.link(out, kept)
    except OSError:  # a file system without links
        shutil.copy2(out, kept)
    return kept


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Wait until nobody else collects into the same folder, at most PATIENCE seconds.

    A courtesy that spares doing the same work twice: where there are no locks (some NFS) nobody
    waits. The lock goes with the process that holds it, and leaves no file.
    """
    handle = os.open(folder, os.O_RDONLY)
    end = time.monotonic() + PATIENCE
    try:
        with suppress(OSError):
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        os.close(handle)


def _remove_stale(out: Path) -> None:
    """Remove what a killed collect left; nobody else's temporary file stays unwritten so long."""
    for path in out.parent.glob(f".{out.name}.*.tmp"):
        if time.time() - path.stat().st_mtime > STALE:
            path.unlink(missing_ok=True)
