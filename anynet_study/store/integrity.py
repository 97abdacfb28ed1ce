"""Checks of a store against its checksums, the journals of its study, or another store.

`verify` compares a store with its own checksums and with `layout`; `verify_journals` builds it
again from the journals of its study and compares both, as `stores_equal` compares any two stores.
"""

import hashlib
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import h5py
import numpy as np
import pyarrow as pa

from anynet_study.core.errors import UserError, counted, first_line, some
from anynet_study.core.files import sha256_of
from anynet_study.core.metrics import CURVES
from anynet_study.core.progress import progress_if_long
from anynet_study.core.sql import engine, fetch
from anynet_study.store.collecting import Asked, Collected
from anynet_study.store.contradictions import OTHER_LABELS, contradicted, unlike_predictions
from anynet_study.store.deduplicate import evaluation_keys
from anynet_study.store.frames import is_torn
from anynet_study.store.hdf5 import (
    CHECKSUMS,
    DAMAGE,
    LayoutError,
    Objects,
    check_disk,
    checksums,
    creating,
    written_checksums,
)
from anynet_study.store.layout import CIRCUMSTANCES, TableName, scores_file, scores_folder
from anynet_study.store.opening import check_layout, open_store, opened
from anynet_study.store.predictions import (
    evaluation_prediction_groups,
    prediction_groups,
    truths_in,
)
from anynet_study.store.records import RUN_COLUMNS, edited_functions, mixed_backends
from anynet_study.store.results import ResultStore
from anynet_study.store.run_arrays import RunArrays
from anynet_study.store.tables import (
    EVALUATION_TABLE,
    read_curve,
    runs_table,
)
from anynet_study.store.write import write_store

if TYPE_CHECKING:
    import duckdb

#: All stores of this schema version and later ones have checksums.
FIRST_WITH_CHECKSUMS = 6
#: How a finding is repaired. "collect": build the store anew from the journals. "train": launch
#: again, which trains the runs that are missing. "data": add a dataset again. "keep": it cannot be
#: repaired, so keep the store as it is. "scores": they cannot be made again. "sweep": undo an edit.
#: "error": find out which record is wrong. "labels": launch again, which copies them. "release":
#: get or export it again. "key": it is to be withdrawn. "population": get the file again. "none":
#: nothing has to be repaired.
Repair = Literal[
    "collect",
    "train",
    "keep",
    "error",
    "data",
    "scores",
    "sweep",
    "labels",
    "release",
    "key",
    "population",
    "none",
]


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    #: A file, or a place inside the store such as /runs/error.
    where: str
    what: str
    repair: Repair = "collect"

    @property
    def note(self) -> bool:
        """Tell whether nothing is lost or wrong; for example, a journal is still being written."""
        return self.repair == "none"


def verify(path: Path, in_study: bool = False) -> list[Finding]:
    """Return what has changed in a results store since it was written; an empty list if nothing
    has.

    Everything is read once, some dozen MB at a time, and compared with the checksums that HDF5 and
    the store itself carry. Scores that were kept must lie beside a study's own store; a copy of a
    store goes without them. Raises UserError if it is missing, no store, or one of another version;
    OSError if it may not be read.
    """
    with open_store(path):
        pass
    found: list[Finding] = []
    try:
        with opened(path) as file:
            there = Objects(file)
            found += _changed(file, there)
            if all(one.note for one in found):
                # Whether or not the checksums fit it.
                check_layout(there)
                said = [(f"/predictions, {name}", OTHER_LABELS) for name in contradicted(file)]
                found += [Finding(where, what, "labels") for where, what in said]
                wrong = [] if said else unlike_predictions(file)
                what = "is not what the predictions of {} give"
                found += [Finding(where, what.format(some(of)), "error") for where, of in wrong]
            if all(one.note for one in found):
                runs = runs_table(file, RUN_COLUMNS)
                mixed = mixed_backends(runs)
                found += [Finding("/runs/backend", mixed, "none")] if mixed else []
                edited = edited_functions(runs)
                found += [Finding("/runs/function_digest", edited, "none")] if edited else []
                found += _scores(path, runs, in_study)
        return found
    except LayoutError as error:
        return [*found, Finding(error.where, error.what)]
    except UserError:
        raise
    except DAMAGE as error:
        check_disk(path, error)
        return [Finding("/", f"cannot be read: {first_line(error)}")]


def _scores(store: Path, runs: pa.Table, in_study: bool) -> Iterator[Finding]:
    """Kept outputs of networks that are gone, or are not what the record of their run says."""
    rows = zip(*(runs[name].to_pylist() for name in ("run_id", "scores")), strict=True)
    kept = {scores_file(store, run_id): digest for run_id, digest in rows if digest}
    folder = scores_folder(store)
    if kept and not folder.is_dir():
        if in_study:
            those = f"those of {counted(len(kept), 'run')}"
            yield Finding(folder.name, f"is gone; it has {those}", "scores")
        return
    for path, digest in kept.items():
        where = f"{folder.name}/{path.name}"
        try:
            if sha256_of(path) != digest:
                yield Finding(where, "is not what was written for this run", "scores")
        except OSError as error:
            yield Finding(where, f"cannot be read ({error.strerror})", "scores")


def refuse_wrong(path: Path, called: Path) -> None:
    """Raises UserError if `verify` finds something wrong; the message calls the store `called`."""
    for finding in verify(path):
        if not finding.note:
            raise UserError(f"{called}: {finding.where} {finding.what}; see anynet-study verify")


def _changed(file: h5py.File, there: Objects) -> Iterator[Finding]:
    if CHECKSUMS not in file and int(file.attrs["schema_version"]) < FIRST_WITH_CHECKSUMS:
        said = "has no checksums, as it was made before there were any: changes are not noticed"
        yield Finding(Path(file.filename).name, said, "none")
        return
    written = written_checksums(file)
    size = sum(getattr(item, "nbytes", 0) for item in there.values())
    with progress_if_long("reading", size >> 20, f"/{size >> 20} MB") as report:
        found = checksums(there, lambda done: report(done >> 20))
    for place in sorted(written.keys() - found.keys()):
        yield Finding(f"/{place}", "is missing")
    for place in sorted(found.keys() - written.keys()):
        yield Finding(f"/{place}", "was added to the store")
    for place in sorted(found.keys() & written.keys()):
        if found[place] != written[place]:
            yield Finding(f"/{place}".replace("//", "/"), "is not what was written")


def verify_journals(folder: Path, store: Path | None) -> list[Finding]:
    """Return what is wrong with the journals of a study, and where its store differs from them.

    The store is built again from the journals, with its own tables of architectures and datasets,
    and compared. `store` None: there is none yet, or it is damaged. Raises UserError or OSError as
    `collect`.
    """
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("architecture", "dataset")})
    asked, there, refused = Asked(nothing, nothing), None, list[Finding]()
    if store is not None:
        try:
            there = ResultStore(store)
            asked = _asked(there)
        except UserError as error:
            there, refused = None, [_not_compared(store, error)]
    with tempfile.TemporaryDirectory() as name, RunArrays(Path(name) / "again.h5") as arrays:
        found, again = Collected(folder, asked, arrays), Path(name) / "again.h5"
        findings = [*_files(found), *_twice(found), *_specifications(found, arrays)]
        if there is None:
            return findings + refused
        try:
            with there.opened() as file:
                contents = found.contents(truths_in(file))
            with creating(again, again) as file:
                write_store(file, contents, found.arranged, arrays)
            return findings + list(_apart(there, ResultStore(again), _later(found.records, there)))
        except (UserError, *DAMAGE) as error:
            return [*findings, _not_compared(there.path, error)]


def _not_compared(store: Path, error: Exception) -> Finding:
    return Finding(store.name, f"cannot be compared with the journals: {error}")


def _asked(store: ResultStore) -> Asked:
    """The names and the order that runs and evaluations have in a store."""
    with store:
        runs = store.table("runs", ["run_id", "dataset", "recipe", "replicate"])
        evaluations = store.table("evaluations", ["evaluation_id", "evaluation", "kind"])
        return Asked(
            population=store.table("architectures"),
            datasets=store.table("datasets"),
            planned=_named(runs),
            recipes=store.recipes,
            evaluations=_named(evaluations),
        )


def _named(table: pa.Table) -> dict[str, tuple[Any, ...]]:
    """Return what further columns have for each text of the first one."""
    ids, *names = (column.to_pylist() for column in table.columns)
    return dict(zip(ids, zip(*names, strict=True), strict=True))


def _files(found: Collected) -> Iterator[Finding]:
    for name, problem in found.problems.items():
        where = f"{found.folder.name}/{name}"
        for line in problem.split("; "):
            torn = is_torn(line)
            yield Finding(where, line, "none" if torn else "train")
    for path in found.strangers():
        yield Finding(f"{found.folder.name}/{path.name}", "is not a journal; ignored", "none")


def _twice(found: Collected) -> Iterator[Finding]:
    """Runs and evaluations that were recorded twice with different errors."""
    for name, line in found.twice.items():
        yield Finding(f"{found.folder.name}/{name}", line, "none")


def _specifications(found: Collected, arrays: RunArrays) -> Iterator[Finding]:
    """Records whose run_id is not the hash of their specification."""
    runs = found.arranged.runs
    rows = runs["row"].to_numpy()
    ends = np.cumsum(arrays.lengths("spec", rows))[:-1]
    specs = zip(runs["run_id"].to_pylist(), np.split(arrays.read("spec", rows), ends), strict=False)
    wrong = [run_id for run_id, spec in specs if run_id not in _run_ids_of(spec.tobytes())]
    if wrong:
        what = f"the run_id is not the hash of the spec of runs {some(sorted(wrong))}"
        yield Finding("journals", what, "train")


def _run_ids_of(spec: bytes) -> tuple[str, str]:
    """The id of a run that was trained, and of one that was imported by its names."""
    trained = hashlib.sha256(spec).hexdigest()[:16]
    return trained, blake2b(spec, digest_size=8).hexdigest()


def _later(records: pa.Table, store: ResultStore) -> set[str]:
    """Names of the runs and evaluations that were recorded after a store was collected."""
    known = store.table("journals", ["journal", "bytes"])
    sizes = dict(zip(*(column.to_pylist() for column in known.columns), strict=True))
    rows = (records[name].to_pylist() for name in ("run_id", "evaluation_id", "journal", "end"))
    return {
        run_id if evaluation is None else f"{run_id} {evaluation}"
        for run_id, evaluation, journal, end in zip(*rows, strict=True)
        if end > sizes.get(journal, 0)
    }


def _apart(store: ResultStore, again: ResultStore, later: Collection[str]) -> Iterator[Finding]:
    """Tell where a store is not the one that its journals give; `later`: what it cannot have
    yet.
    """
    alone: dict[tuple[str, str], list[str]] = {}
    unlike: dict[tuple[str, str], list[str]] = {}
    behind: dict[str, set[str]] = {}
    # Journals may be gone that had another record; what is planned is the sweep's.
    for found in differences(store, again, ("journal", "planned")):
        if found.name in later:
            behind.setdefault(found.table, set()).add(found.name)
        elif found.column:
            unlike.setdefault((found.table, found.column), []).append(found.name)
        else:
            alone.setdefault((found.table, found.what), []).append(found.name)
    for table, later_names in behind.items():
        what = f"lacks {table} that were recorded since it was collected: "
        yield Finding(store.path.name, what + some(sorted(later_names)), "none")
    for (table, what), names in alone.items():
        if what == "only in the first":
            yield Finding(
                store.path.name, f"has {table} that are in no journal: {some(names)}", "keep"
            )
        else:
            yield Finding(store.path.name, f"lacks {table} of the journals: {some(names)}")
    for (table, column), names in unlike.items():
        what = f"is not what the journals say of {table} {some(names)}"
        yield Finding(f"/{table}/{column}", what)


#: The tables that are compared, and what names their rows.
_KEYS: Mapping[TableName, str] = {
    "architectures": "architecture",
    "datasets": "dataset",
    "runs": "run_id",
    "evaluations": "evaluation of",
}


@dataclass(frozen=True)
class Difference:
    """A row that only one of two stores has, or a value that differs between them."""

    #: Of the row; if the tables have other columns: "columns", and the key of the table.
    table: TableName | Literal["columns"]
    name: str
    #: "": the row is in one store alone.
    column: str
    what: str

    def __str__(self) -> str:
        key = "columns of" if self.table == "columns" else _KEYS[self.table]
        return f"{key} {self.name}: {self.what}"


def stores_equal(a: Path | ResultStore, b: Path | ResultStore) -> list[str]:
    """Differences between the results of two stores, one line each; none if they are equal.

    Compared, bit for bit and whatever the order of the runs: the population, the datasets, every
    run's scalars, spec, curves and predictions with their true labels, and the evaluations.
    Not compared: CIRCUMSTANCES, provenance.
    """
    first, second = (
        store if isinstance(store, ResultStore) else ResultStore(store) for store in (a, b)
    )
    return [str(difference) for difference in differences(first, second, CIRCUMSTANCES)]


def differences(
    first: ResultStore, second: ResultStore, ignored: Collection[str]
) -> Iterator[Difference]:
    """The differences between two stores; the `ignored` columns of runs are not compared."""
    with first, second, engine(memory="80%") as connection:
        for table in _KEYS:
            one, other = (_compared(store, table, ignored) for store in (first, second))
            yield from _unlike_rows(connection, table, one, other)


def _unlike_rows(
    connection: "duckdb.DuckDBPyConnection", table: TableName, first: pa.Table, second: pa.Table
) -> Iterator[Difference]:
    """The differences between the same table of two stores."""
    key = _KEYS[table]
    if first.column_names != second.column_names:
        columns = f"{first.column_names} against {second.column_names}"
        yield Difference("columns", key, "", columns)
        return
    connection.register("one", first)
    connection.register("other", second)
    left, right = (
        {row[key]: row for row in fetch(connection, statement, most=None).to_pylist()}
        for statement in ("from one except from other", "from other except from one")
    )
    for mine, yours, which in ((left, right, "first"), (right, left, "second")):
        for name in sorted(mine.keys() - yours.keys()):
            yield Difference(table, name, "", f"only in the {which}")
    for column in first.column_names:
        for name in sorted(left.keys() & right.keys()):
            a, b = left[name][column], right[name][column]
            if a != b:
                yield Difference(table, name, column, f"{column} {a} against {b}")


def _compared(store: ResultStore, table: TableName, ignored: Collection[str]) -> pa.Table:
    """Return what is compared of a table: its scalars, and digests of curves and predictions."""
    if table in ("architectures", "datasets"):
        return store.table(table)
    of_runs = table == "runs"
    own = [*RUN_COLUMNS, "spec"] if of_runs else EVALUATION_TABLE
    left_out = ignored if of_runs else {*ignored, "architecture", "dataset", "recipe", "replicate"}
    rows = store.table(table, [name for name in own if name not in left_out])
    with store.opened() as file:
        if of_runs:
            rows = rows.append_column("curves", _digests_of_curves(file))
            digests = _digests(prediction_groups(file), "run", len(rows))
        else:
            rows = rows.append_column(_KEYS[table], evaluation_keys(rows))
            digests = _digests(evaluation_prediction_groups(file), "row", len(rows))
    return rows.append_column("predictions", digests)


def _digests_of_curves(file: h5py.File) -> pa.Array:
    """A digest of all curves of each run."""
    every = [read_curve(file, name) for name in CURVES]
    parts = pairwise(file["curves/offsets"][()].tolist())
    joined = (b"".join(curve[begin:end].tobytes() for curve in every) for begin, end in parts)
    return pa.array(map(_digest, joined), pa.string())


def _digests(groups: Iterable[h5py.Group], index: str, count: int) -> pa.Array:
    """A digest of the predictions of each row and their true labels; "" if it has none."""
    digests = [""] * count
    for group in groups:
        labels = group["labels"][()].tobytes() if "labels" in group else b""
        for row, classes in zip(group[index][()].tolist(), group["classes"][()], strict=True):
            digests[row] = _digest(classes.tobytes() + labels)
    return pa.array(digests, pa.string())


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
