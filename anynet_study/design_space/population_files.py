"""Populations in files, by suffix: what was written before, or architectures that someone chose.

Parquet has the table with its record; CSV the table alone, and JSON the architectures alone:
neither tells how they were drawn. Files that someone made are CSV or Parquet tables with columns
d1, w1, ... (`_from_cells`), CSV with a column `architecture` alone, or JSON lists.
"""

import csv
import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.design_space.architecture import Architecture, checked, ids_of
from anynet_study.design_space.complexity import MEASURES
from anynet_study.design_space.networks import MAX_STAGES, MAX_WIDTH, Skeleton
from anynet_study.design_space.population_table import (
    FORMAT,
    LETTERS,
    METADATA_KEY,
    SKELETON_COLUMNS,
    architectures_of,
    groups_in,
    groups_of,
    schema_of,
    stages_of,
    tabulate,
)
from anynet_study.design_space.reference import reference
from anynet_study.errors import UserError
from anynet_study.files import replacing, write_text

SUFFIXES = (".parquet", ".csv", ".json")
#: What the cell of a stage that is not there may hold, in lower case.
MISSING = {"", "na", "n/a", "nan", "null", "none"}
STAGE = re.compile(rf"[{''.join(LETTERS.values())}][1-{MAX_STAGES}]")
OTHERS = ("architecture", *SKELETON_COLUMNS, "weight", *MEASURES)
LEGAL = f"d1 to d{MAX_STAGES}, w1 ..., b1 ..., g1 ..., s1 ..., {', '.join(OTHERS)}"
Contents = tuple[pa.Table, list[Architecture]]


class ChosenRow(NamedTuple):
    """One row of a file that someone made."""

    #: File and line, row or entry, for messages.
    where: str
    architecture: Architecture
    #: As the file has it, to be compared with that of the architecture; "" where it is left out.
    id: str = ""
    weight: float | None = None


def check_suffix(path: Path) -> None:
    """Refuse, before any work, a file that a population cannot be written to."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: a population's file must end in {', '.join(SUFFIXES)}")


def write_population(table: pa.Table, path: Path, architectures: Iterable[Architecture]) -> None:
    """Write a population's table, or its architectures, atomically. Raises UserError.

    Equal populations give equal bytes.
    """
    check_suffix(path)
    if path.suffix.lower() == ".json":
        lines = [json.dumps(architecture.to_dict()) for architecture in architectures]
        write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")
    elif path.suffix.lower() == ".csv":
        columns = [table[name].to_pylist() for name in table.column_names]
        with replacing(path) as made, made.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.column_names)
            writer.writerows(zip(*columns, strict=True))
    else:
        with replacing(path) as made:
            pq.write_table(table.combine_chunks(), made)


def read_population(path: Path, resolution: int | None, classes: int | None) -> Contents:
    """Read a population's table and architectures.

    Costs of one that someone made are counted at `resolution` and `classes` (None: 224, 1000).
    Raises UserError for what is no population, and for ids that are not those of the networks.
    """
    if path.suffix.lower() == ".csv":
        rows = _read_csv(path)
    elif path.suffix.lower() == ".json":
        rows = _read_json(path)
    else:
        table = _read_parquet(path)
        if METADATA_KEY in (table.schema.metadata or {}):
            return table, _checked_architectures(table, path)
        if "d1" not in table.column_names:
            raise UserError(f"{path}: a Parquet file, but not a population")
        stages = _stages_in(table.column_names, path)
        numbered = enumerate(table.to_pylist(), 1)
        rows = [_from_cells(cells, stages, f"{path}: row {row}") for row, cells in numbered]
    if not rows:
        raise UserError(f"{path}: there is no architecture in it")
    resolution = 224 if resolution is None else resolution
    classes = 1000 if classes is None else classes
    return _tabulated(rows, path, *checked(resolution, classes))


def _read_parquet(path: Path) -> pa.Table:
    try:
        with path.open("rb") as file:
            # Threads would gain nothing, and one that starts while a command ends in an error
            # aborts the process.
            return pq.ParquetFile(file).read(use_threads=False)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: not a population's Parquet file ({reason})") from None


def _checked_architectures(table: pa.Table, path: Path) -> list[Architecture]:
    """The architectures of a table that was written as a population. Raises UserError."""
    version = json.loads(table.schema.metadata[METADATA_KEY]).get("format")
    if version != FORMAT:
        raise UserError(f"{path}: format {version}, but this version reads format {FORMAT}")
    if not table.schema.equals(schema_of(stages_of(table), "weight" in table.column_names)):
        raise UserError(f"{path}: a Parquet file, but not a population")
    try:
        architectures = architectures_of(table)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    ids = table["architecture"].to_pylist()
    for rows, networks in groups_in(table):
        if ids_of(networks) != [ids[row] for row in rows]:
            raise UserError(f"{path}: an id does not fit its architecture: the file was altered")
    return architectures


def _tabulated(rows: list[ChosenRow], path: Path, resolution: int, classes: int) -> Contents:
    architectures = [row.architecture for row in rows]
    record = {
        "resolution": resolution,
        "classes": classes,
        "count": len(rows),
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    weights = None if rows[0].weight is None else [row.weight for row in rows]
    table = tabulate(groups_of(architectures), resolution, classes, record, weights)
    first: dict[str, str] = {}
    for row, is_id in zip(rows, table["architecture"].to_pylist(), strict=True):
        if row.id and row.id != is_id:
            raise UserError(
                f"{row.where}, column architecture: {row.id!r} is not the id of this "
                f"network, which is {is_id}; leave the column out, or the cell empty"
            )
        if first.setdefault(is_id, row.where) != row.where:
            before = first[is_id].rpartition(": ")[2]
            raise UserError(f"{row.where}: the same network as {before}")
    return table, architectures


def _read_json(path: Path) -> list[ChosenRow]:
    """Read a list of `Architecture.to_dict` mappings and published networks' names."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a readable JSON file ({error})") from None
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{path}: not a list of architectures")
    return [_from_entry(entry, f"{path}: entry {n}") for n, entry in enumerate(entries, 1)]


def _from_entry(entry: Any, where: str) -> ChosenRow:
    """The network of a name or of a mapping."""
    try:
        named = isinstance(entry, str)
        return ChosenRow(where, reference(entry) if named else Architecture.from_dict(entry))
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _read_csv(path: Path) -> list[ChosenRow]:
    """Read columns d1, w1, ..., or a column `architecture` alone.

    The latter names published networks, or holds the fields of an `Architecture` as JSON.
    """
    header, lines = _csv_lines(path)
    if not header:
        raise UserError(f"{path}: the file is empty")
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{path}: column {name!r} is there twice")
    if header == ["architecture"]:
        return [_from_entry(_entry(cell), f"{path}: line {n}") for n, [cell] in lines]
    if "d1" not in header:
        raise UserError(
            f"{path}: there is no column d1; needed: d1, w1, d2, w2, ..., separated by commas, or "
            "nothing but a column architecture that names published networks"
        )
    stages = _stages_in(header, path)
    return [
        _from_cells(dict(zip(header, cells, strict=True)), stages, f"{path}: line {n}")
        for n, cells in lines
    ]


def _csv_lines(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header, and each row with the number of the line that it ends on."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None
    header = [name.strip() for name in lines[0][1]] if lines else []
    for number, row in lines:
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {number} has {len(row)} cells, the header has {len(header)}"
            )
    return header, lines[1:]


def _entry(cell: str) -> object:
    """A name, or what a cell of JSON holds."""
    if not cell.lstrip().startswith("{"):
        return cell.strip()
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def _stages_in(columns: Sequence[str], path: Path) -> int:
    """Check the names of the columns, and return how many stages there are columns for."""
    for name in columns:
        if name not in OTHERS and not STAGE.fullmatch(name):
            near = difflib.get_close_matches(name, [*OTHERS, "d1", "w1"], n=1)
            guess = f" (did you mean {near[0]}?)" if near else ""
            raise UserError(f"{path}: column {name!r} is unknown{guess}; legal: {LEGAL}")
    last = max((int(name[1]) for name in columns if STAGE.fullmatch(name)), default=1)
    for number in range(1, last + 1):
        for letter in "dw":
            if f"{letter}{number}" not in columns:
                raise UserError(f"{path}: there is no column {letter}{number}; needed: d1, w1, ...")
    return last


def _from_cells(given: Mapping[str, Any], stages: int, where: str) -> ChosenRow:
    """Build from the cells of a row, texts or numbers, by column.

    Needed are d1 .. dS and w1 .. wS. Left out, or left empty, the others are as in `Architecture`:
    ratios 1, one group, the imagenet stem of width 32, bottleneck blocks without
    squeeze-and-excitation; strides are 1, then 2. Complexity is not read, it is counted anew.
    """
    cells = {name: value for name, value in given.items() if not _is_missing(value)}
    try:
        architecture = _architecture_of(cells, stages, "s1" in given)
        weight = _weight(cells) if "weight" in given else None
    except UserError as error:
        reason = str(error).removeprefix("architecture: ")
        separator = ", " if reason.startswith("column ") else ": "
        raise UserError(f"{where}{separator}{reason}") from None
    return ChosenRow(where, architecture, str(cells.get("architecture", "")).strip(), weight)


def _architecture_of(cells: Mapping[str, Any], stages: int, has_strides: bool) -> Architecture:
    """The network of the cells of one row that are not empty."""
    values = {
        letter: [_whole(cells, f"{letter}{k}") for k in range(1, stages + 1)]
        for letter in LETTERS.values()
    }
    count = values["d"].index(0) if 0 in values["d"] else stages
    for stage in range(count, stages):
        if any(given[stage] for given in values.values()):
            raise UserError(f"there is a stage {stage + 1}, but d{count + 1} is empty")
    d, w, b, g, s = (tuple(given[:count]) for given in values.values())
    b = tuple(ratio or 1 for ratio in b)
    g = tuple(group or max(1, width // ratio) for width, ratio, group in zip(w, b, g, strict=True))
    s = tuple(filter(None, s)) if has_strides else (1, *(2,) * (count - 1))[:count]
    if 0 < len(s) < count:
        raise UserError(f"it has more stages than strides, of which there are {len(s)}")
    stem, block = (
        str(cells.get(name, getattr(Skeleton, name))).strip() for name in ("stem", "block")
    )
    stem_width = _whole(cells, "stem_width") or Skeleton.stem_width
    return Architecture(d, w, b, g, s, stem, stem_width, block, _number(cells, "se_ratio"))


def _weight(cells: Mapping[str, Any]) -> float:
    weight = _number(cells, "weight")
    if not weight > 0:
        raise UserError(f"column weight: {cells.get('weight', '')!r} is not above 0")
    return weight


def _number(cells: Mapping[str, Any], name: str) -> float:
    """The number of a cell; 0 where it is empty."""
    try:
        return float(cells.get(name, 0))
    except (TypeError, ValueError):
        raise UserError(f"column {name}: {cells[name]!r} is not a number") from None


def _whole(cells: Mapping[str, Any], name: str) -> int:
    """The positive whole number of a cell; 0 where it is empty."""
    value = _number(cells, name)
    if name in cells and (value % 1 or not 1 <= value <= MAX_WIDTH):
        raise UserError(
            f"column {name}: {cells[name]!r} is not a whole number from 1 to {MAX_WIDTH:,}"
        )
    return int(value)


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    return value is None or value != value
