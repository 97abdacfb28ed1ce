"""Populations in files, by suffix: what was written before, or architectures that someone chose.

Parquet has the table with its record and a digest of both, which is checked when it is read; CSV
has the table alone, and JSON the architectures alone: neither tells how they were drawn. Files that
someone made are CSV or Parquet tables with columns d1, w1, ... (`_from_cells`), CSV with a column
`architecture` alone, or JSON lists.
"""

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.files import read_regular, replacing, within_memory, write_text
from anynet_study.design_space.architecture import Architecture, checked
from anynet_study.design_space.complexity import MEASURES
from anynet_study.design_space.foreign import ForeignNetwork
from anynet_study.design_space.networks import MAX_STAGES, MAX_WIDTH, Skeleton
from anynet_study.design_space.population_table import (
    FORMAT,
    LETTERS,
    MAX_COUNT,
    METADATA_KEY,
    SKELETON_COLUMNS,
    AnyNetwork,
    architectures_of,
    check_record,
    column_of,
    foreign_record,
    groups_of,
    place_of,
    schema_like,
    tabulate,
)
from anynet_study.design_space.reference import reference

DIGEST_KEY = b"anynet_study.sha256"
#: Formats without digests, from when there was one law of drawing, and in the first one kind of
#: blocks: they are read as they were meant.
BEFORE_DIGESTS = (1, 2)
#: What reading damaged bytes ends with, beside the errors of the readers' own.
UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    MemoryError,
    RecursionError,
)
SUFFIXES = (".parquet", ".csv", ".json")
#: What the cell of a stage that is not there may hold, in lower case.
MISSING = {"", "na", "n/a", "nan", "null", "none"}
STAGE = re.compile(rf"[{''.join(LETTERS.values())}]([1-{MAX_STAGES}])")
OTHERS = ("architecture", "network", *SKELETON_COLUMNS, "weight", *MEASURES)
LEGAL = f"d1 to d{MAX_STAGES}, w1 ..., b1 ..., g1 ..., s1 ..., {', '.join(OTHERS)}"
Contents = tuple[pa.Table, list[AnyNetwork] | None]
#: A population of MAX_COUNT architectures is smaller.
MOST_BYTES = 1 << 30
#: What makes a network of a name, an image side and a number of classes.
Named = Callable[[str, int, int], AnyNetwork]


def published(name: str, resolution: int, classes: int) -> AnyNetwork:
    """The published network of that name, which is the same at any side and number of classes."""
    return reference(name)


def check_suffix(path: Path) -> None:
    """Refuse, before any work, a file that a population cannot be written to."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: a population's file must end in {', '.join(SUFFIXES)}")


def write_population(table: pa.Table, path: Path, architectures: Iterable[AnyNetwork]) -> None:
    """Write a population's table, or its architectures, atomically. Raises UserError.

    Equal populations give equal bytes.
    """
    check_suffix(path)
    if path.suffix.lower() == ".json":
        lines = [
            json.dumps(one.name if isinstance(one, ForeignNetwork) else one.to_dict())
            for one in architectures
        ]
        write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")
    elif path.suffix.lower() == ".csv":
        columns = [table[name].to_pylist() for name in table.column_names]
        with replacing(path) as made, made.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.column_names)
            writer.writerows(zip(*columns, strict=True))
    else:
        with replacing(path) as made:
            kept = {**table.schema.metadata, DIGEST_KEY: _digest(table)}
            pq.write_table(table.combine_chunks().replace_schema_metadata(kept), made)


def read_population(
    path: Path,
    resolution: int | None,
    classes: int | None,
    named: Named = published,
    written: bool = False,
) -> Contents:
    """Read a population's table; of one that someone made, the architectures, too.

    Costs of the latter are counted at `resolution` and `classes` (None: 224, 1000). Raises
    UserError for what is no population, for one that is not what was written, and where the file
    has other costs and neither is given: it was counted elsewhere, as where another program saved
    again what was written, without its record. `written`: this is refused whatever it has.
    """
    if not path.is_file():  # a pipe would be waited for
        raise UserError(f"{path}: there is no such population file")
    try:
        found = _content(path, written)
    except UserError:
        raise
    except (*UNREADABLE, csv.Error, pa.ArrowException) as error:
        kind = {".csv": "CSV", ".json": "JSON"}.get(path.suffix.lower(), "Parquet")
        reason = first_line(error)
        raise UserError(f"{path}: not a population's {kind} file ({reason})") from None
    if isinstance(found, pa.Table):
        return found, None
    rows, build = found, _from_entry if path.suffix.lower() == ".json" else _from_cells
    if not rows:
        raise UserError(f"{path}: there is no architecture in it")
    unstated = resolution is None and classes is None
    resolution = 224 if resolution is None else resolution
    classes = 1000 if classes is None else classes
    place = checked(resolution, classes)

    def built(row: Any) -> AnyNetwork:
        return build(row, lambda name: named(name, *place))

    table, networks = _tabulated(rows, built, path, *place)
    if unstated:
        _check_costs(rows, networks, table, path)
    return table, networks


def _content(path: Path, written: bool) -> pa.Table | list[tuple[str, Any]]:
    """The table of a population; of a file that someone made, its rows with their places."""
    if path.suffix.lower() == ".csv":
        return list(_csv_rows(path))
    if path.suffix.lower() != ".json":
        return _of_parquet(path, written)
    entries = json.loads(read_regular(path, MOST_BYTES).decode("utf-8"))
    if not isinstance(entries, list):
        raise UserError(f"{path}: not a list of architectures")
    return [(f"entry {number}", entry) for number, entry in enumerate(entries, 1)]


def _of_parquet(path: Path, written: bool) -> pa.Table | list[tuple[str, Any]]:
    """The table that `write_population` wrote; or the rows of one that someone made."""
    content = read_regular(path, MOST_BYTES)
    # Threads would gain nothing, and one that starts while a command ends in an error aborts the
    # process.
    file = pq.ParquetFile(pa.BufferReader(content))
    if file.metadata.num_rows > MAX_COUNT:
        raise UserError(f"{path}: it has more than {MAX_COUNT:,} rows")
    with within_memory(path):
        table = file.read(use_threads=False)
    # Of the bytes: a damaged footer can lose all metadata.
    if METADATA_KEY in content or DIGEST_KEY in content:
        return _checked(table, path)
    if written:
        raise UserError(
            f"{path}: altered: it lacks the record of how it was made, as after another program "
            "saved it again; get it back, or move it away and launch again"
        )
    _check_columns(table.column_names, path)
    with within_memory(path):
        cells = table.to_pylist()
    return [(f"row {number}", row) for number, row in enumerate(cells, 1)]


def _check_costs(
    rows: Sequence[tuple[str, Any]], networks: Sequence[AnyNetwork], table: pa.Table, path: Path
) -> None:
    """Refuse costs in a file that are not those at the side and classes that are assumed."""
    for name in MEASURES:
        counted = table[name].to_pylist()
        for (place, row), network, count in zip(rows, networks, counted, strict=True):
            told = None if isinstance(network, ForeignNetwork | str) else _told(row, name)
            if told is not None and told != count:
                raise UserError(
                    f"{path}: {place}: column {name}: {told:,.0f}, but {count:,} at 224 pixels and "
                    "1000 classes: say at which resolution and classes it was counted, or leave "
                    f"the column out ({', '.join(MEASURES)} are counted anew)"
                )


def _told(row: Any, name: str) -> float | None:
    """A cost that a row of a table gives; None where it gives none."""
    if not isinstance(row, Mapping) or _is_missing(row.get(name)):
        return None
    return _number(row, name)


def _digest(table: pa.Table) -> bytes:
    """SHA-256, in hexadecimal, of a population's record and of its columns as JSON, in order."""
    found = hashlib.sha256(table.schema.metadata[METADATA_KEY])
    for name in table.column_names:
        found.update(json.dumps([name, table[name].to_pylist()]).encode())
    return found.hexdigest().encode()


def _checked(table: pa.Table, path: Path) -> pa.Table:
    """A table that was written as a population, without its digest. Raises UserError."""
    altered = UserError(f"{path}: altered or damaged: the content is not what was written")
    kept = table.schema.metadata or {}
    if METADATA_KEY not in kept:
        raise altered
    record = json.loads(kept[METADATA_KEY])
    version = record.get("format") if isinstance(record, dict) else None
    if version not in (*BEFORE_DIGESTS, FORMAT):
        raise UserError(f"{path}: format {version}, but this version reads formats 1 to {FORMAT}")
    table = _with_blocks(table) if version == 1 else table
    if not table.schema.equals(schema_like(table)):
        raise UserError(f"{path}: a Parquet file, but not a population")
    if (DIGEST_KEY in kept or version == FORMAT) and kept.get(DIGEST_KEY) != _digest(table):
        raise altered
    if version == FORMAT:
        check_record(record)
        return table.replace_schema_metadata({METADATA_KEY: kept[METADATA_KEY]})
    again = _drawn_before(table, record, path)
    if not again.equals(table):
        raise altered
    return again


def _drawn_before(table: pa.Table, record: dict[str, Any], path: Path) -> pa.Table:
    """The networks of a table of a format without digests, tabulated anew in today's format."""
    try:
        groups = groups_of(architectures_of(table))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if "space" in record:  # drawn when there was one law
        space = record["space"]
        space.setdefault("quantization", "nearest")
        if "distribution" in space:
            space.setdefault("depth_distribution", space["distribution"])
    weights = column_of(table, "weight")
    return tabulate(groups, *place_of(record), {**record, "format": FORMAT}, weights)


def _with_blocks(table: pa.Table) -> pa.Table:
    """A table of format 1 with the columns that say which blocks its networks have."""
    place = len(table.column_names) - len(MEASURES)
    for name, value in (("se_ratio", 0.0), ("block", "bottleneck")):
        table = table.add_column(place, name, pa.repeat(value, len(table)))
    return table


def _tabulated(
    rows: list[tuple[str, Any]],
    build: Callable[[Any], AnyNetwork],
    path: Path,
    resolution: int,
    classes: int,
) -> tuple[pa.Table, list[AnyNetwork]]:
    """Build the rows of a file that someone made, each of which has its place in the file."""
    keys = rows[0][1] if isinstance(rows[0][1], dict) and path.suffix.lower() != ".json" else {}
    weighted = "weight" in keys
    architectures, weights = [], []
    names = [row["network"] or None for _, row in rows] if "network" in keys else None
    places: dict[AnyNetwork, str] = {}
    for place, row in rows:
        try:
            architecture = build(row)
            if architecture in places:
                raise UserError(f"the same network as {places[architecture]}")
            if weighted:
                weights.append(_number(row, "weight"))
                if not weights[-1] > 0:
                    raise UserError(f"column weight: {row['weight']!r} is not above 0")
        except UserError as error:
            raise UserError(
                f"{path}: {place}: {str(error).removeprefix('architecture: ')}"
            ) from None
        places[architecture] = place
        architectures.append(architecture)
    record = {
        "resolution": resolution,
        "classes": classes,
        "count": len(rows),
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        **foreign_record(architectures),
    }
    groups = groups_of(architectures)
    table = tabulate(groups, resolution, classes, record, weights or None, names)
    return table, architectures


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the cells of each row that has some, with the number of the line that it ends on."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        header = [name.strip() for name in next(reader, [])]
        _check_columns(header, path)
        for cells in reader:
            if not any(map(str.strip, cells)):
                continue
            if len(cells) != len(header):
                raise UserError(
                    f"{path}: line {reader.line_num} has {len(cells)} cells, the header has "
                    f"{len(header)}"
                )
            yield f"line {reader.line_num}", dict(zip(header, map(str.strip, cells), strict=True))


def _check_columns(columns: Sequence[str], path: Path) -> None:
    """Refuse a table without stages, or with columns that a population has not."""
    for name in columns:
        if name not in OTHERS and not STAGE.fullmatch(name):
            raise UserError(f"{path}: column {name!r} is unknown; legal: {LEGAL}")
    if len(set(columns)) < len(columns):
        raise UserError(f"{path}: column {Counter(columns).most_common(1)[0][0]!r} is there twice")
    by_name = list(columns) == ["architecture"] or "network" in columns
    if not by_name and not {"d1", "w1"} <= set(columns):
        raise UserError(f"{path}: not a population: there are no columns d1 and w1")


def _from_entry(entry: Any, named: Callable[[str], AnyNetwork]) -> AnyNetwork:
    """The network of a name, or of a mapping of an `Architecture`'s fields."""
    return named(entry) if isinstance(entry, str) else Architecture.from_dict(entry)


def _from_cells(row: Mapping[str, Any], named: Callable[[str], AnyNetwork]) -> AnyNetwork:
    """The network of a row: of a name, or of its stages, texts or numbers.

    What is left out, or left empty, is as in `Architecture`: ratios 1, one group, strides 1, then
    2, the imagenet stem of width 32, bottleneck blocks without squeeze-and-excitation. Complexity
    is not read, it is counted anew.
    """
    cells = {name: value for name, value in row.items() if not _is_missing(value)}
    if set(row) == {"architecture"}:
        return named(cells.get("architecture", ""))
    if "network" in cells:
        return _same(named(str(cells["network"]).strip()), cells)
    numbers = [int(stage[1]) for stage in map(STAGE.fullmatch, cells) if stage]
    stages = range(1, max(numbers, default=1) + 1)
    d, w = (tuple(_whole(cells, f"{letter}{stage}") for stage in stages) for letter in "dw")
    b = tuple(_whole(cells, f"b{stage}", 1) for stage in stages)
    whole = (max(1, width // ratio) for width, ratio in zip(w, b, strict=True))
    g = tuple(_whole(cells, f"g{stage}", group) for stage, group in zip(stages, whole, strict=True))
    s = tuple(_whole(cells, f"s{stage}", 1 if stage == 1 else 2) for stage in stages)
    stem, block = (
        str(cells.get(name, getattr(Skeleton, name))).strip() for name in ("stem", "block")
    )
    stem_width = _whole(cells, "stem_width", Skeleton.stem_width)
    se_ratio = _number(cells, "se_ratio") if "se_ratio" in cells else Skeleton.se_ratio
    return _same(Architecture(d, w, b, g, s, stem, stem_width, block, se_ratio), cells)


def _same(architecture: AnyNetwork, cells: Mapping[str, Any]) -> AnyNetwork:
    """The network, which must have the id that its row gives, if it gives one."""
    if str(cells.get("architecture", architecture.id)).strip() != architecture.id:
        raise UserError(
            f"column architecture: {cells['architecture']!r} is not the id of this network, which "
            f"is {architecture.id}; leave the column out, or the cell empty"
        )
    return architecture


def _number(cells: Mapping[str, Any], name: str) -> float:
    try:
        return float(cells[name])
    except (TypeError, ValueError):
        raise UserError(f"column {name}: {cells[name]!r} is not a number") from None


def _whole(cells: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """The whole number of a cell; `default` where it is empty."""
    if name not in cells:
        if default is None:
            raise UserError(f"column {name}: there is no number")
        return default
    value = _number(cells, name)
    if value % 1 or not 1 <= value <= MAX_WIDTH:
        raise UserError(
            f"column {name}: {cells[name]!r} is not a whole number from 1 to {MAX_WIDTH:,}"
        )
    return int(value)


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    return value is None or value != value
