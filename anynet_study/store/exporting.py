"""Release bundles: a folder of a study's results that others can read, cite and import."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from anynet_study.core.errors import UserError, counted
from anynet_study.core.files import beside, read_regular, replacing, replacing_folder, sha256_of
from anynet_study.core.sheets import read_parquet
from anynet_study.design_space import METADATA_KEY, Population, schema_like
from anynet_study.store.hdf5 import get_text
from anynet_study.store.integrity import Finding, refuse_wrong, stores_equal, verify
from anynet_study.store.layout import COLUMNS, STAGES, TableName
from anynet_study.store.opening import FIRST_PLAIN
from anynet_study.store.publishing import keys_in, publish, texts_in
from anynet_study.store.results import ResultStore
from anynet_study.store.tables import EVALUATIONS_SHOWN, plain

FORMAT = "anynet-study release"
VERSION = 1

FILES = {
    "results.h5": "everything; its attribute `layout` documents it",
    "runs.parquet": "one row per run: one model trained on one dataset",
    "errors.parquet": "models x datasets: test errors in percent, mean over replicates",
    "evaluations.parquet": "one row per run on a further test set",
    "curves.parquet": "one row per epoch of a run, where curves were recorded",
    "architectures.parquet": "one row per model: what is known of it",
    "datasets.parquet": "one row per dataset",
    "population.parquet": "the architectures as they were drawn, for `anynet-study`",
    "sweep.yaml": "the sweep that the runs were made by",
    "schema.json": "the columns of every table: type, unit, meaning",
}


@dataclass(frozen=True)
class ExportReport:
    """The content of a bundle."""

    folder: Path
    #: Name -> bytes.
    files: dict[str, int]
    #: What of the store is not in it, a line each.
    left_out: list[str]


def export(store: ResultStore, folder: Path, with_launch: bool = False) -> ExportReport:
    """Write the bundle of a store as `folder`, which is new or replaces an older bundle.

    Without what `publishing` leaves out, unless `with_launch`: then all that the store says of how
    and where jobs ran is published.

    Raises UserError where the folder holds anything else, or `verify` rejects the store; OSError
    where the folder cannot be written, and then nothing is changed.
    """
    if folder.exists() and not is_bundle(folder):
        raise UserError(f"{folder}: exists and is not an export; choose another -o")
    if not folder.resolve().name:
        raise UserError(f"{folder}: not a folder that can be made")
    with replacing_folder(folder.resolve()) as temporary:
        # All else is made from the copy: a collect may replace the store meanwhile.
        whole, published = beside(temporary / "results.h5"), temporary / "results.h5"
        shutil.copyfile(store.path, whole)
        refuse_wrong(whole, store.path)
        left_out = [] if with_launch else publish(whole, published)
        if left_out:
            whole.unlink()
        else:  # byte for byte
            whole.replace(published)
        with ResultStore(published) as copy:
            tables = write_tables(copy, temporary)
            provenance, population, version = copy.provenance, population_of(copy), copy.version
        if population is not None:
            population.write(temporary / "population.parquet")
        if sweep := provenance.get("sweep"):
            _write(temporary / "sweep.yaml", sweep)
        _write(temporary / "schema.json", schema_json(tables))
        files = sorted(path.name for path in temporary.iterdir())
        name = folder.resolve().name
        _write(temporary / "README.md", readme(name, tables, files, provenance, version))
        sizes = {path.name: path.stat().st_size for path in sorted(temporary.iterdir())}
        sums = [f"{sha256_of(temporary / file)}  {file}\n" for file in sizes]
        _write(temporary / SUMS, "".join(sums))
    return ExportReport(folder, sizes, left_out)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\\0]+)")


def is_bundle(folder: Path) -> bool:
    """Tell whether a folder is one that `export` made."""
    try:
        described = json.loads(read_regular(folder / "schema.json"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(described, dict) and described.get("format") == FORMAT


def is_release(folder: Path) -> bool:
    """Tell whether a folder is, or was before something happened to it, one that `export` made."""
    return is_bundle(folder) or (folder / SUMS).is_file()


def checked_bundle(folder: Path) -> Path:
    """The path of the results store in a bundle, after all its files fitted their checksums.

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


def verify_bundle(folder: Path) -> Iterator[Finding]:
    """Yield what is wrong with a release: its sums, its store, and each file compared with the
    store.

    Sums can be made again by anybody; the tables say what the store says, which has its own
    checksums. Also what looks like a key or password, which nobody should publish. Raises
    UserError as `checked_bundle`.
    """
    store = checked_bundle(folder)
    yield from (wrong := verify(store))
    for path in sorted(folder.iterdir()):
        if path.name not in _sums(folder) and path.name != SUMS:
            yield Finding(path.name, f"has no line in {SUMS}", "release")
        if path.name not in (*FILES, "README.md", SUMS):
            yield Finding(path.name, "is no file of a release", "release")
    if any(not finding.note for finding in wrong):
        return
    with ResultStore(store) as results, tempfile.TemporaryDirectory() as name:
        tables = write_tables(results, Path(name))
        for table in tables:
            yield from _unlike_table(folder, table, pq.read_table(Path(name) / table))
        yield from _unlike_texts(folder, results, tables)
        with results.opened() as file:
            for place, text in texts_in(file):
                yield from _keys(f"results.h5{place}", text)


def _unlike_table(folder: Path, name: str, truth: pa.Table) -> Iterator[Finding]:
    """Tell where a table differs from the store; earlier versions knew fewer columns."""
    path = folder / name
    if not path.exists():
        yield Finding(name, "is missing; results.h5 has its rows", "release")
        return
    found = read_parquet(path)
    if len(found) != len(truth):
        what = f"has {counted(len(found), 'row')}, results.h5 {len(truth):,}"
        yield Finding(name, what, "release")
        return
    for column in found.column_names:
        same = column in truth.column_names and _equal(found[column], truth[column])
        if not same:
            yield Finding(name, f"column {column} is not what results.h5 says", "release")


def _equal(found: pa.ChunkedArray, truth: pa.ChunkedArray) -> bool:
    try:
        return bool(found.cast(truth.type).to_pandas().equals(truth.to_pandas()))
    except pa.ArrowException:  # of another type
        return False


def _unlike_texts(
    folder: Path, results: ResultStore, tables: Mapping[str, tuple[pa.Schema, int]]
) -> Iterator[Finding]:
    """Yield what sweep, population, dictionary and README say that the store does not; keys in
    them.
    """
    provenance, population = results.provenance, population_of(results)
    path = folder / "population.parquet"
    if population is not None and not (path.exists() and _same_population(path, population)):
        yield Finding(path.name, "is not the population of results.h5", "release")
    texts = {
        name: read_regular(folder / name).decode(errors="replace")
        for name in ("README.md", "sweep.yaml", "schema.json")
        if (folder / name).exists()
    }
    if texts.get("sweep.yaml", "") != provenance.get("sweep", ""):
        yield Finding("sweep.yaml", "is not the sweep of results.h5", "release")
    said = json.loads(texts["schema.json"]).get("tables", {})
    if absent := sorted(said.keys() ^ tables.keys()):
        yield Finding("schema.json", f"says otherwise of {', '.join(absent)}", "release")
    called = texts.get("README.md", "").partition("\n")[0].removeprefix("# ")
    files = sorted({*tables, *(path.name for path in folder.iterdir())})
    if texts.get("README.md") != readme(called, tables, files, provenance, results.version):
        what = "is not what this version writes of results.h5: an earlier one did, or somebody else"
        yield Finding("README.md", what, "none")
    for name, text in texts.items():
        yield from _keys(name, text)


def _same_population(path: Path, truth: Population) -> bool:
    found = Population.read(path)
    shared = [name for name in found.table.column_names if name in truth.table.column_names]
    alike = found.table.select(shared).equals(truth.table.select(shared))
    return alike and found.sampling == truth.sampling


def _keys(where: str, text: str) -> Iterator[Finding]:
    for key in dict.fromkeys(keys_in(text)):
        yield Finding(where, f"has what looks like a key or password: {key}", "key")


def import_bundle(folder: Path, out: Path) -> ResultStore:
    """Copy the results store of a bundle to `out`, byte for byte, with its provenance.

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
    """Write a file for each table; evaluations only if there are any.

    Returns the schema and the number of rows of each file.
    """
    written: dict[str, tuple[pa.Schema, int]] = {}
    for name in get_args(TableName)[:6]:
        table = plain(
            store.table(name, EVALUATIONS if name == "evaluations" else None), pa.string()
        )
        if len(table) or name != "evaluations":
            pq.write_table(table, folder / f"{name}.parquet")
            written[f"{name}.parquet"] = table.schema, len(table)
    return written


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


def schema_json(tables: Mapping[str, tuple[pa.Schema, int]]) -> str:
    """The data dictionary."""
    described = {
        name: {
            "rows": rows,
            "columns": [
                {
                    "name": field.name,
                    "type": str(field.type),
                    "meaning": meaning(Path(name).stem, field.name),
                }
                for field in schema
            ],
        }
        for name, (schema, rows) in tables.items()
    }
    content = {"format": FORMAT, "version": VERSION, "missing": "null", "tables": described}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def meaning(table: str, column: str) -> str:
    """Return what a column of a table's file holds."""
    if table == "errors" and column != "architecture":
        return "error on this dataset, percent"
    if column[0] in STAGES and column[1:].isdigit():
        return f"{STAGES[column[0]]} of stage {column[1:]}"
    if column == "epoch":
        return "from 1"
    known = {**COLUMNS["runs"], **COLUMNS.get(table, {})}
    return known[column].meaning if column in known else "as the source of the results gives it"


def readme(
    name: str,
    tables: Mapping[str, tuple[pa.Schema, int]],
    files: list[str],
    provenance: Mapping[str, Any],
    version: int,
) -> str:
    """The text of README.md; the same store, of a schema version, always gives the same text."""
    counts = {file: rows for file, (_, rows) in tables.items()}
    question = str(provenance.get("question") or "").strip()
    listed = "\n".join(f"| `{file}` | {FILES[file]} |" for file in files if file in FILES)
    return TEMPLATE.format(
        name=name,
        question=f"\n{question}\n" if question else "",
        models=f"{counts['architectures.parquet']:,}",
        datasets=f"{counts['datasets.parquet']:,}",
        runs=f"{counts['runs.parquet']:,}",
        files=listed,
        provenance=_provenance(provenance),
        model=PLAIN if version >= FIRST_PLAIN else CODED,
    )


def _provenance(provenance: Mapping[str, Any]) -> str:
    lines = [
        f"- made by anynet-study {provenance.get('code_version') or '(version not recorded)'}, "
        f"on {provenance.get('created')}"
    ]
    imported = json.loads(provenance.get("import", "[]"))
    lines += [
        f"- imported from `{entry['file']}`, sha256 `{entry['sha256']}`" for entry in imported
    ]
    return "\n".join(lines)


#: How a column of texts is read, in stores since FIRST_PLAIN and before.
PLAIN = 'file["runs/architecture"].asstr()[:]'
CODED = 'file["labels/architecture"].asstr()[:][file["runs/architecture"][:]]'
TEMPLATE = """\
# {name}
{question}
Test errors of {models} models on {datasets} datasets: {runs} runs.

| file | what it holds |
|---|---|
{files}

Errors are in percent. A missing value is null. `schema.json` says what every column holds.

## Read it

```python
import pandas as pd

errors = pd.read_parquet("errors.parquet").set_index("architecture")
errors.corr(method="spearman")
```

```r
errors <- arrow::read_parquet("errors.parquet")
```

```python
import h5py

with h5py.File("results.h5") as file:
    print(file.attrs["layout"].decode())  # what is where
    error = file["runs/error"][:]
    model = {model}
```

Per-example predictions, where there are any, are only in `results.h5`.

## Import it

From the folder that holds this one; it checks every file against `SHA256SUMS` first:

    anynet-study import {name} -o results.h5
    anynet-study analyze results.h5

Without anynet-study, `sha256sum -c SHA256SUMS` in this folder does the check. It shows that the
files are as they were when the sums were made; not who made them, nor that the numbers are true.

## Cite it

By its name, and the SHA-256 of `results.h5` in `SHA256SUMS`, which no other results have.

## Where it comes from

{provenance}

The same store, exported to a folder of this name, gives the same bytes in every file. Of two
stores with equal results, `results.h5` and this file differ in when they were made, and
`runs.parquet` in how long runs took, and where.
"""
