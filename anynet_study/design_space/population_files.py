"""Populations in files, by suffix: what was written before, or architectures that someone chose.

Parquet has the table with its record; CSV the table alone, and JSON the architectures alone:
neither tells how they were drawn. Files that someone made are CSV or Parquet tables with columns
d1, w1, ... (`_from_columns`), CSV with a column `architecture` alone, or JSON lists.
"""

import csv
import difflib
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
Columns = Mapping[str, Sequence[Any]]
Contents = tuple[pa.Table, list[Architecture]]


@dataclass(frozen=True)
class ChosenRows:
    """Architectures with what else a file that someone made says of them; one entry per row."""

    architectures: list[Architecture]
    #: Where each row is, for messages.
    name_of: Callable[[int], str]
    #: Ids as the file has them, to be compared with those of the architectures; "" where left out.
    ids: Sequence[str] | None = None
    weights: list[float] | None = None


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
        chosen = _read_csv(path)
    elif path.suffix.lower() == ".json":
        chosen = _read_json(path)
    else:
        table = _read_parquet(path)
        if METADATA_KEY in (table.schema.metadata or {}):
            return table, _checked_architectures(table, path)
        if "d1" not in table.column_names:
            raise UserError(f"{path}: a Parquet file, but not a population")
        if not table.num_rows:
            raise UserError(f"{path}: there is no architecture in it")
        columns = table.to_pydict()
        chosen = _from_columns(columns, str(path), lambda row: f"{path}: row {row + 1}")
    return _tabulated(chosen, path, *checked(resolution or 224, classes or 1000))


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


def _tabulated(chosen: ChosenRows, path: Path, resolution: int, classes: int) -> Contents:
    record = {
        "resolution": resolution,
        "classes": classes,
        "count": len(chosen.architectures),
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    groups = groups_of(chosen.architectures)
    table = tabulate(groups, resolution, classes, record, chosen.weights)
    ids = table["architecture"].to_pylist()
    first: dict[str, int] = {}
    for row, (is_id, told) in enumerate(zip(ids, chosen.ids or ids, strict=True)):
        if told and told != is_id:
            raise UserError(
                f"{chosen.name_of(row)}, column architecture: {told!r} is not the id of this "
                f"network, which is {is_id}; leave the column out, or the cell empty"
            )
        if first.setdefault(is_id, row) != row:
            before = chosen.name_of(first[is_id]).rpartition(": ")[2]
            raise UserError(f"{chosen.name_of(row)}: the same network as {before}")
    return table, chosen.architectures


def _read_json(path: Path) -> ChosenRows:
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
    return _from_entries(entries, lambda row: f"{path}: entry {row + 1}")


def _from_entries(entries: Sequence[Any], name_of: Callable[[int], str]) -> ChosenRows:
    """The networks of names and mappings."""
    architectures = []
    for row, entry in enumerate(entries):
        try:
            named = isinstance(entry, str)
            architectures.append(reference(entry) if named else Architecture.from_dict(entry))
        except UserError as error:
            raise UserError(f"{name_of(row)}: {error}") from None
    return ChosenRows(architectures, name_of)


def _read_csv(path: Path) -> ChosenRows:
    """Read columns d1, w1, ..., or a column `architecture` alone.

    The latter names published networks, or holds the fields of an `Architecture` as JSON.
    """
    header, rows, lines = _cells(path)
    if not header:
        raise UserError(f"{path}: the file is empty")
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{path}: column {name!r} is there twice")
    if not rows:
        raise UserError(f"{path}: there is no architecture in it, only a header")

    def name_of(row: int) -> str:
        return f"{path}: line {lines[row]}"

    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    if header == ["architecture"]:
        return _from_entries([_entry(cell) for cell in columns["architecture"]], name_of)
    if "d1" not in columns:
        raise UserError(
            f"{path}: there is no column d1; needed: d1, w1, d2, w2, ..., separated by commas, or "
            "nothing but a column architecture that names published networks"
        )
    return _from_columns(columns, str(path), name_of)


def _cells(path: Path) -> tuple[list[str], list[list[str]], Sequence[int]]:
    """Return the header, the rows, and the line that each row ends on."""
    rows, lines = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if any(cell.strip() for cell in row):
                    rows.append(row)
                    lines.append(reader.line_num)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such population file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a readable CSV table ({error})") from None
    header = [name.strip() for name in rows[0]] if rows else []
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {line} has {len(row)} cells, the header has {len(header)}"
            )
    return header, rows[1:], lines[1:]


def _entry(cell: str) -> object:
    """A name, or what a cell of JSON holds."""
    if not cell.lstrip().startswith("{"):
        return cell.strip()
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def _from_columns(columns: Columns, where: str, name_of: Callable[[int], str]) -> ChosenRows:
    """Build from cells, texts or numbers, by column; `where` names the file, `name_of` a row.

    Needed are d1 .. dS and w1 .. wS. Left out, or left empty, the others are as in `Architecture`:
    ratios 1, one group, the imagenet stem of width 32, bottleneck blocks without
    squeeze-and-excitation; strides are 1, then 2. Complexity is not read, it is counted anew.
    """
    stages = _checked_stages(columns, where)
    architectures, weights = [], []
    for row in range(len(columns["d1"])):
        given = {name: values[row] for name, values in columns.items()}
        cells = {name: value for name, value in given.items() if not _is_missing(value)}
        try:
            architectures.append(_architecture_of(cells, stages, "s1" in columns))
            weights.append(_weight(cells) if "weight" in columns else 1.0)
        except UserError as error:
            reason = str(error).removeprefix("architecture: ")
            separator = ", " if reason.startswith("column ") else ": "
            raise UserError(f"{name_of(row)}{separator}{reason}") from None
    ids = columns.get("architecture")
    told = None if ids is None else ["" if _is_missing(i) else str(i).strip() for i in ids]
    return ChosenRows(architectures, name_of, told, weights if "weight" in columns else None)


def _checked_stages(columns: Columns, where: str) -> int:
    """Check the names of the columns, and return how many stages there are columns for."""
    for name in columns:
        if name not in OTHERS and not STAGE.fullmatch(name):
            near = difflib.get_close_matches(name, [*OTHERS, "d1", "w1"], n=1)
            guess = f" (did you mean {near[0]}?)" if near else ""
            raise UserError(f"{where}: column {name!r} is unknown{guess}; legal: {LEGAL}")
    last = max((int(name[1]) for name in columns if STAGE.fullmatch(name)), default=1)
    for number in range(1, last + 1):
        for letter in "dw":
            if f"{letter}{number}" not in columns:
                raise UserError(
                    f"{where}: there is no column {letter}{number}; needed: d1, w1, ..."
                )
    return last


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
