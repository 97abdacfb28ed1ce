"""Populations in files of several formats, by suffix: CSV, JSON, or else Parquet."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from anynet_study.design_space.architecture import Architecture, checked
from anynet_study.design_space.identity import ids_of
from anynet_study.design_space.populations import population_parquet as parquet
from anynet_study.design_space.populations.chosen import Chosen
from anynet_study.design_space.populations.population_csv import read_csv, write_csv
from anynet_study.design_space.populations.population_json import read_json, write_json
from anynet_study.design_space.populations.table import cells_of, tabulate
from anynet_study.errors import UserError

SUFFIXES = (".parquet", ".csv", ".json")
READERS: dict[str, Callable[[Path], Chosen]] = {".csv": read_csv, ".json": read_json}


def check_suffix(path: Path) -> None:
    """Refuse, before any work, a file that a population cannot be written to."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: a population's file must end in {', '.join(SUFFIXES)}")


def write_table(table: pa.Table, path: Path, architectures: Iterable[Architecture]) -> None:
    """Write a population's table, or its architectures, by the suffix. Raises UserError."""
    check_suffix(path)
    if path.suffix.lower() == ".json":
        write_json(architectures, path)
    elif path.suffix.lower() == ".csv":
        write_csv(table, path)
    else:
        parquet.write_parquet(table, path)


def read_table(path: Path, resolution: int | None, classes: int | None) -> pa.Table:
    """Read a population's table; costs of one that someone made are counted there.

    Raises UserError for what is no population, and for ids that are not those of the networks.
    """
    if path.suffix.lower() in READERS:
        chosen = READERS[path.suffix.lower()](path)
        return _tabulated(chosen, path, resolution or 224, classes or 1000)
    table = parquet.read_parquet(path)
    if parquet.is_foreign(table):
        chosen = parquet.foreign(table, path)
        return _tabulated(chosen, path, resolution or 224, classes or 1000)
    table = parquet.checked(table, path)
    groups = cells_of(table).groups(lambda row: f"{path}: row {row + 1}")
    ids = table["architecture"].to_pylist()
    for rows, networks in groups:
        if ids_of(networks) != [ids[row] for row in rows]:
            raise UserError(f"{path}: an id does not fit its architecture: the file was altered")
    return table


def _tabulated(chosen: Chosen, path: Path, resolution: int, classes: int) -> pa.Table:
    checked(resolution, classes)
    record = {
        "resolution": resolution,
        "classes": classes,
        "count": sum(len(group.networks) for group in chosen.groups),
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    table = tabulate(chosen.groups, resolution, classes, record, chosen.weights)
    ids = table["architecture"].to_pylist()
    _check_known(ids, chosen)
    _check_different(ids, chosen)
    return table


def _check_known(ids: Sequence[str], chosen: Chosen) -> None:
    for row, (is_id, told) in enumerate(zip(ids, chosen.ids or ids, strict=True)):
        if told and told != is_id:
            raise UserError(
                f"{chosen.name_of(row)}, column architecture: {told!r} is not the id of this "
                f"network, which is {is_id}; leave the column out, or the cell empty"
            )


def _check_different(ids: Sequence[str], chosen: Chosen) -> None:
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for row, one in enumerate(ids):
        if one in first:
            before = chosen.name_of(first[one]).rpartition(": ")[2]
            raise UserError(f"{chosen.name_of(row)}: the same network as {before}")
        first[one] = row
