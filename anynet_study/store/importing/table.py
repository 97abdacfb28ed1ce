"""A table of errors or accuracies as records of a store."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.metrics import Metric
from anynet_study.store.importing.cells import Cells, read_cells, repeated
from anynet_study.store.importing.columns import ImportOptions, roles_of
from anynet_study.store.importing.datasets import Known
from anynet_study.store.importing.files import ImportedFile, entry, journal_row, named_records
from anynet_study.store.importing.models import describe, recomputed, renamed
from anynet_study.store.importing.scale import in_error_percent
from anynet_study.store.importing.sheet import read_sheet
from anynet_study.store.run_arrays import RunArrays


def table_file(
    path: Path, label: str, options: ImportOptions, known: Known, arrays: RunArrays
) -> ImportedFile:
    """Read a table of errors or accuracies; `label` is its name in the store.

    `known` is what was said of the datasets. Raises UserError for whatever is unclear, ambiguous
    or wrong in it.
    """
    sheet = read_sheet(path, options.separator, options.encoding)
    roles = roles_of(path, list(sheet.columns), options)
    cells = read_cells(sheet, roles)
    if "metric" in cells.run:
        cells = _on_metric(cells, options.metric)
    _refuse_repeats(cells)
    errors = in_error_percent(cells, roles.quantity, options, known)
    described = describe(cells)
    ids = recomputed(path, described)
    columns: dict[str, Any] = {
        "architecture": _coded([ids.get(name, name) for name in cells.models], cells.model),
        "dataset": _coded(cells.datasets, cells.dataset),
        "recipe": options.recipe,
        "metric": _coded(_metrics(cells.datasets, options, known), cells.dataset),
        "journal": label,
        **cells.run,
        "error": errors,
    }
    records = named_records(columns, arrays)
    return ImportedFile(
        name=str(path),
        records=records,
        planned=np.ones(len(records), np.bool_),
        architectures=renamed(described, ids),
        datasets=pa.table({"dataset": pa.array(cells.datasets, pa.string())}),
        journals=journal_row(label, len(cells), path),
        provenance=entry(path, options.told()),
        recipes=records["recipe"].cast(pa.string()).unique().to_pylist(),
        assumed=roles.quantity is None and options.quantity is None,
    )


def _metrics(datasets: list[str], options: ImportOptions, known: Known) -> list[str]:
    """The metric of each dataset."""
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
