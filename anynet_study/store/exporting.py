"""Release bundles: a folder of a study's results that others can read, cite and import."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.design_space import METADATA_KEY, Population, schema_like
from anynet_study.errors import UserError
from anynet_study.files import read_regular, replacing, replacing_folder, sha256_of
from anynet_study.store.compare import stores_equal
from anynet_study.store.hdf5 import get_text
from anynet_study.store.integrity import refuse_wrong
from anynet_study.store.layout import TableName
from anynet_study.store.release_text import FORMAT, VERSION, readme, schema_json
from anynet_study.store.results import ResultStore
from anynet_study.store.tables import EVALUATIONS_SHOWN


@dataclass(frozen=True)
class ExportReport:
    """What a bundle holds."""

    folder: Path
    #: Name -> bytes.
    files: dict[str, int]


def export(store: ResultStore, folder: Path) -> ExportReport:
    """Write the bundle of a store as `folder`, which is new or replaces an older bundle.

    Raises UserError where the folder holds anything else, or `verify` rejects the store; OSError
    where it cannot be written, and
    then nothing is changed.
    """
    if folder.exists() and not is_bundle(folder):
        raise UserError(f"{folder}: exists and is not an export; choose another -o")
    if not folder.resolve().name:
        raise UserError(f"{folder}: not a folder that can be made")
    with replacing_folder(folder.resolve()) as temporary:
        # All else is made from the copy: a collect may replace the store meanwhile.
        shutil.copyfile(store.path, temporary / "results.h5")
        refuse_wrong(temporary / "results.h5", store.path)
        with ResultStore(temporary / "results.h5") as copy:
            tables = write_tables(copy, temporary)
            provenance, population = copy.provenance, population_of(copy)
        if population is not None:
            population.write(temporary / "population.parquet")
        if sweep := provenance.get("sweep"):
            _write(temporary / "sweep.yaml", sweep)
        _write(temporary / "schema.json", schema_json(tables))
        files = sorted(path.name for path in temporary.iterdir())
        _write(temporary / "README.md", readme(folder.resolve().name, tables, files, provenance))
        sizes = {path.name: path.stat().st_size for path in sorted(temporary.iterdir())}
        sums = [f"{sha256_of(temporary / name)}  {name}\n" for name in sizes]
        _write(temporary / SUMS, "".join(sums))
    return ExportReport(folder, sizes)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\\0]+)")


def is_bundle(folder: Path) -> bool:
    """Whether a folder is one that `export` made."""
    try:
        described = json.loads(read_regular(folder / "schema.json"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(described, dict) and described.get("format") == FORMAT


def checked_bundle(folder: Path) -> Path:
    """The results store of a bundle, all of whose files are as they were written.

    Raises UserError for a folder that is no bundle, a newer one, and missing or altered files.
    """
    if not is_bundle(folder):
        raise UserError(f"{folder}: a folder, but not one that `anynet-study export` made")
    sums = _sums(folder)
    for name in ("results.h5", "schema.json"):
        if name not in sums:
            raise UserError(f"{folder}: {SUMS} has no {name}")
    for name, digest in sums.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{folder}: {name} is missing")
        if sha256_of(path) != digest:
            raise UserError(f"{folder}: {name} was altered: it does not fit {SUMS}")
    version = json.loads(read_regular(folder / "schema.json")).get("version")
    if version != VERSION:
        raise UserError(
            f"{folder}: a release of version {version}, this anynet-study reads version {VERSION}"
        )
    return folder / "results.h5"


def import_bundle(folder: Path, out: Path) -> ResultStore:
    """Make the results store of a bundle the file `out`, with its provenance, byte for byte.

    Raises UserError as `checked_bundle`, and where `out` is a store of other results.
    """
    source = checked_bundle(folder)
    if out.exists() and stores_equal(ResultStore(out), ResultStore(source)):
        raise UserError(f"{out}: holds other results; give another -o")
    with replacing(out) as temporary:
        shutil.copyfile(source, temporary)
        refuse_wrong(temporary, source)
    return ResultStore(out)


def _sums(folder: Path) -> dict[str, str]:
    try:
        lines = read_regular(folder / SUMS).decode("utf-8").splitlines()
    except (OSError, UnicodeError):
        raise UserError(f"{folder}: has no readable {SUMS}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise UserError(f"{folder / SUMS}: line {number} is not a checksum and a file name")
        found[match[2]] = match[1]
    return found


EVALUATIONS = (*EVALUATIONS_SHOWN, "identity", "started", "host")


def write_tables(store: ResultStore, folder: Path) -> dict[str, tuple[pa.Schema, int]]:
    """Write the tables, evaluations where there are any; schema and rows of each file."""
    written: dict[str, tuple[pa.Schema, int]] = {}
    for name in get_args(TableName)[:6]:
        table = plain(store.table(name, EVALUATIONS if name == "evaluations" else None))
        if len(table) or name != "evaluations":
            pq.write_table(table, folder / f"{name}.parquet")
            written[f"{name}.parquet"] = table.schema, len(table)
    return written


def plain(table: pa.Table) -> pa.Table:
    """Coded text as text, which every reader of Parquet knows; no metadata."""
    columns = {
        name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def population_of(store: ResultStore) -> Population | None:
    """The population that was drawn for a study; None where its columns are not all there."""
    with store.opened() as file:
        sampling = get_text(file["architectures"], "sampling", "")
    table = store.table("architectures")
    schema = schema_like(table)
    if not sampling or schema.names != table.column_names:
        return None
    metadata = {METADATA_KEY: sampling.encode()}
    return Population(table.cast(schema).replace_schema_metadata(metadata))
