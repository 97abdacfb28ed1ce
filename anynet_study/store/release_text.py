"""What a release bundle says of itself: its README and its data dictionary."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from anynet_study.store.layout import COLUMNS, STAGES

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
    """What a column of a table's file holds."""
    if table == "errors" and column != "architecture":
        return "error on this dataset, percent"
    if column[0] in STAGES and column[1:].isdigit():
        return f"{STAGES[column[0]]} of stage {column[1:]}"
    if column == "epoch":
        return "from 1"
    known = {**COLUMNS["runs"], **COLUMNS.get(table, {})}
    return known.get(column, "as the source of the results gives it")


def readme(
    name: str,
    tables: Mapping[str, tuple[pa.Schema, int]],
    files: list[str],
    provenance: Mapping[str, Any],
) -> str:
    """The README, the same for the same store."""
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
    model = file["labels/architecture"].asstr()[:][file["runs/architecture"][:]]
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
