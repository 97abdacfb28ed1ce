"""What a release bundle says of itself: its README and its data dictionary."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

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

#: Columns of the tables; those of stages and datasets follow a pattern.
MEANINGS = {
    "run_id": "hash of everything that determines the run's result",
    "architecture": "id or name of the model",
    "name": "what the imported file called the model",
    "dataset": "label of the dataset",
    "recipe": "how the model was trained",
    "replicate": "number of the repetition, from 0",
    "status": "completed, diverged (error of guessing) or failed (no error)",
    "failure_kind": "of a failed run: oom, data, timeout, node, code",
    "message": "of a failed run",
    "metric": "what the error is of: top1, top5, balanced_accuracy, macro_f1, ...",
    "error": "test error after the final epoch, percent",
    "planned": "whether the sweep asks for the run: only those are analysed",
    "epochs": "epochs of the curves, or planned for the dataset",
    "images": "per-example predictions in results.h5; of an evaluation, test images",
    "seconds": "duration, s",
    "started": "when the run began, s since 1970, UTC",
    "engine": "of training: reference, fast, empty where it is not known",
    "backend": "of layers: plain, rewritten, compiled, empty where it is not known",
    "instruction_set": "the widest that it could use",
    "threads": "of the CPU",
    "processor": "model of the CPU or GPU",
    "libraries": "versions of those that compute",
    "evaluation": "name of the further test set, or of what was done to the images",
    "evaluation_id": "hash of its identity",
    "identity": "JSON: all that determines the evaluation of given weights",
    "loss": "mean cross-entropy, nats",
    "top1": "error, percent",
    "top5": "error, percent",
    "host": "machine that did it",
    "epoch": "from 1",
    "stem": "first layers: imagenet, simple, cifar",
    "stem_width": "channels of the stem",
    "block": "type of the blocks",
    "se_ratio": "squeeze-and-excitation, 0: none",
    "weight": "proportional to how much likelier the space draws it than the sample did",
    "flops": "multiply-adds",
    "parameters": "count",
    "activations": "count",
    "base": "dataset that it is a variant of",
    "role": "source, family, target or extra",
    "test_set_of": "dataset that it is a further test set of",
    "classes": "count",
    "train_images": "count",
    "test_images": "count",
    "chance": "error of the best guess that is the same for all images, percent",
    "content_hash": "hash of the images",
    "variant": "JSON: how it was selected from its base",
    "class_names": "JSON: the classes in the order of their numbers",
}
STAGES = {
    "d": "depth",
    "w": "width",
    "b": "bottleneck ratio",
    "g": "group width",
    "s": "stride",
}


def schema_json(tables: Mapping[str, tuple[pa.Schema, int]]) -> str:
    """The data dictionary."""
    described = {
        name: {
            "rows": rows,
            "columns": [
                {"name": field.name, "type": str(field.type), "meaning": meaning(name, field.name)}
                for field in schema
            ],
        }
        for name, (schema, rows) in tables.items()
    }
    content = {"format": FORMAT, "version": VERSION, "missing": "null", "tables": described}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def meaning(table: str, column: str) -> str:
    """What a column holds."""
    if table == "errors.parquet" and column != "architecture":
        return "error on this dataset, percent"
    if column[0] in STAGES and column[1:].isdigit():
        return f"{STAGES[column[0]]} of stage {column[1:]}"
    if column.startswith(("train_", "test_")) and column not in MEANINGS:
        return "after the epoch: " + ("nats" if column.endswith("loss") else "error, percent")
    return MEANINGS.get(column, "as the source of the results gives it")


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

Without anynet-study, `sha256sum -c SHA256SUMS` in this folder does the check.

## Cite it

By its name, and the SHA-256 of `results.h5` in `SHA256SUMS`, which no other results have.

## Where it comes from

{provenance}

The same store, exported to a folder of this name, gives the same bytes in every file. Of two
stores with equal results, `results.h5` and this file differ in when they were made, and
`runs.parquet` in how long runs took, and where.
"""
