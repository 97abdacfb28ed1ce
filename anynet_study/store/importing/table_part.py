"""A table of errors as a part of a store."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.store.importing.cells import Cells, repeated
from anynet_study.store.importing.datasets import Known
from anynet_study.store.importing.described import describe, recomputed, renamed
from anynet_study.store.importing.gathering import gather
from anynet_study.store.importing.options import ImportOptions
from anynet_study.store.importing.part import Part, named_runs
from anynet_study.store.importing.scale import in_error_percent
from anynet_study.store.importing.shape import shape_of
from anynet_study.store.importing.tables import read_table


def table_part(path: Path, label: str, options: ImportOptions, known: Known) -> Part:
    """Read a table of errors or accuracies; `label` is its name in the store.

    `known` is what was said of the datasets. Raises UserError for whatever is unclear, ambiguous
    or wrong in it.
    """
    table = read_table(path, options.separator, options.encoding)
    shape = shape_of(path, table.columns, options)
    cells = gather(path, table, shape)
    if "metric" in cells.run:
        cells = _on_metric(cells, options.metric)
    _refuse_repeats(cells)
    errors = in_error_percent(cells, shape.quantity, options, known)
    described = describe(cells)
    ids = recomputed(path, described)
    models = [ids.get(name, name) for name in cells.models]
    columns: dict[str, Any] = {
        "architecture": _coded(models, cells.model),
        "dataset": _coded(cells.datasets, cells.dataset),
        "recipe": _coded([options.recipe], np.zeros(len(cells), np.int32)),
        "metric": _coded(_metrics(cells.datasets, options, known), cells.dataset),
        "journal": _coded([label], np.zeros(len(cells), np.int32)),
        **cells.run,
        "error": errors,
    }
    runs, named = named_runs(columns)
    return Part(
        name=str(path),
        runs=runs,
        arrays=named,
        architectures=renamed(described, ids),
        datasets=pa.table({"dataset": pa.array(cells.datasets, pa.string())}),
        journals=journal_row(label, len(cells), path),
        provenance=entry(path, options.told()),
        assumed=shape.quantity is None and options.quantity is None,
    )


def _metrics(datasets: list[str], options: ImportOptions, known: Known) -> list[str]:
    """One a dataset."""
    return [options.metric or known.get(name, {}).get("metric", "top1") for name in datasets]


def _refuse_repeats(cells: Cells) -> None:
    run = [cells.run[name] for name in ("replicate", "recipe") if name in cells.run]
    codes = [np.asarray(c.indices if pa.types.is_dictionary(c.type) else c) for c in run]
    pair = repeated(*codes, cells.dataset, cells.model)
    if pair is not None:
        first, second = sorted(pair)
        raise UserError(
            f"{cells.where(first)}: given again in row {cells.row[second]}; repetitions of a run "
            f"need a column replicate"
        )


def journal_row(label: str, records: int, path: Path) -> pa.Table:
    """The row of /journals of an imported file."""
    size = path.stat().st_size
    row = {"journal": label, "records": records, "duplicates": 0, "bytes": size, "problem": ""}
    return pa.Table.from_pylist([row])


def entry(path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """What the provenance says of an imported file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": path.name, "sha256": digest, "bytes": path.stat().st_size, "options": told}


def _coded(labels: list[str], codes: NDArray[np.int32]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels, pa.string()))


def _on_metric(cells: Cells, wanted: str | None) -> Cells:
    """The cells of the metric that is wanted; UserError where that has to be said."""
    names = cells.run["metric"].cast(pa.string())
    there = sorted(set(names.to_pylist()))
    legal = get_args(Metric)
    if wanted is None and len(there) > 1:
        raise UserError(
            f"{cells.path}: holds the metrics {', '.join(there)}; say which with --metric"
        )
    wanted = wanted or (there or ["top1"])[0]
    if wanted not in legal or (there and wanted not in there):
        raise UserError(
            f"{cells.path}: no metric {wanted!r} to import; there: {', '.join(there)}; legal: "
            f"{', '.join(legal)} (a column of another meaning: --ignore metric)"
        )
    return cells.take(np.flatnonzero(np.asarray(pc.equal(names, wanted))))
