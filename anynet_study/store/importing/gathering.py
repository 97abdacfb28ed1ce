"""From a table in a file to its cells, long or wide."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anynet_study.errors import UserError
from anynet_study.store.importing.blocks import Block, TableFile, is_number, is_number_type
from anynet_study.store.importing.cells import (
    Cells,
    Coder,
    Descriptions,
    coded,
    numbers_of,
    repeated,
    run_columns,
)
from anynet_study.store.importing.shape import Shape


def gather(path: Path, table: TableFile, shape: Shape) -> Cells:
    """Read the cells of a table. Raises UserError that names the row and column of a mistake."""
    cells = _long(path, table, shape) if shape.long else _wide(path, table, shape)
    if not cells.models:
        raise UserError(f"{path}: the table has no rows")
    return cells


def _long(path: Path, table: TableFile, shape: Shape) -> Cells:
    """A block at a time: only the cells, as numbers, stay in memory."""
    assert shape.dataset is not None
    assert shape.value is not None
    models, datasets = Coder(), Coder()
    about = Descriptions(path, shape.numbers)
    parts: list[tuple[NDArray[Any], ...]] = []
    runs: list[dict[str, pa.Array]] = []
    for block in table.blocks:
        model = coded(path, block, shape.model, models)
        dataset = coded(path, block, shape.dataset, datasets)
        value = numbers_of(path, block, shape.value)
        about.add(block, (*shape.numbers, *shape.described, *shape.others), model)
        run = dict(run_columns(path, block, shape.run))
        there = np.flatnonzero(~np.isnan(value))
        parts.append((model[there], dataset[there], value[there], block.first_row + there))
        runs.append({name: column.take(pa.array(there)) for name, column in run.items()})
    return _cells(path, models, datasets, parts, runs, about)


def _wide(path: Path, table: TableFile, shape: Shape) -> Cells:
    block = whole_table(table)
    models, datasets = Coder(), Coder()
    model = coded(path, block, shape.model, models) if len(block) else np.empty(0, np.int32)
    texts = tuple(name for name in shape.others if _is_text(block.columns.get(name)))
    about = Descriptions(path, shape.numbers)
    run = dict(run_columns(path, block, shape.run)) if len(block) else {}
    _refuse_repeats(path, block, shape, model, run)
    about.add(block, (*shape.numbers, *shape.described, *texts) if len(block) else (), model)
    parts: list[tuple[NDArray[Any], ...]] = []
    runs: list[dict[str, pa.Array]] = []
    for name in shape.others if len(block) else ():
        if name in texts:
            continue
        value = numbers_of(path, block, name)
        dataset = datasets.code(pa.array([name]))
        there = np.flatnonzero(~np.isnan(value))
        rows = block.first_row + there
        parts.append((model[there], np.repeat(dataset, len(there)), value[there], rows))
        runs.append({key: column.take(pa.array(there)) for key, column in run.items()})
    if len(block) and not datasets.labels:
        raise UserError(f"{path}: no column holds numbers, so there are no errors in it")
    return _cells(path, models, datasets, parts, runs, about)


def whole_table(table: TableFile) -> Block:
    """All rows of a table as one block."""
    blocks = list(table.blocks)
    if not blocks:
        return Block(1, {})
    columns = {
        name: _joined([block.columns[name] for block in blocks]) for name in blocks[0].columns
    }
    return Block(blocks[0].first_row, columns)


def _joined(parts: list[pa.Array]) -> pa.Array:
    """One array; text where a part is text, as records a line may differ."""
    kinds = {part.type for part in parts}
    common = kinds.pop() if len(kinds) == 1 else pa.string()
    return pa.chunked_array([pc.cast(part, common) for part in parts], common).combine_chunks()


def _is_text(column: pa.Array | None) -> bool:
    """Whether it has cells and none is a number: then it describes the models."""
    if column is None or is_number_type(column.type) or column.null_count == len(column):
        return False
    return not any(is_number(cell) for cell in column.drop_null())


def _refuse_repeats(
    path: Path, block: Block, shape: Shape, model: NDArray[Any], run: dict[str, pa.Array]
) -> None:
    keys = [pc.rank(pc.cast(column, pa.string()), tiebreaker="dense") for column in run.values()]
    pair = repeated(model, *(np.asarray(key) for key in keys))
    if pair is not None:
        first, second = (block.first_row + place for place in sorted(pair))
        name = block.columns[shape.model][pair[0]].as_py()
        raise UserError(
            f"{path}: {name} is there twice, in rows {first} and {second}; repetitions of a model "
            f"need a column replicate"
        )


def _cells(
    path: Path,
    models: Coder,
    datasets: Coder,
    parts: list[tuple[NDArray[Any], ...]],
    runs: list[dict[str, pa.Array]],
    about: Descriptions,
) -> Cells:
    types = (np.int32, np.int32, np.float64, np.int64)
    empty = tuple(np.empty(0, kind) for kind in types)
    model, dataset, value, row = map(np.concatenate, zip(empty, *parts, strict=True))
    run = {
        name: pa.chunked_array([part[name] for part in runs]).unify_dictionaries().combine_chunks()
        for name in (runs[0] if runs else ())
    }
    return Cells(
        path,
        models.labels,
        datasets.labels,
        model,
        dataset,
        value,
        row,
        run=run,
        descriptions=about,
    )
