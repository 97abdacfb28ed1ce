"""Until the store has it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from anynet_study.store.evaluations.record import EVALUATION
from anynet_study.store.frames import Reading
from anynet_study.store.journal import journal_blocks
from anynet_study.store.run_kind import RUN

TEXTS = {
    "run": ("run_id", "status", "failure_kind", "host", "device", "engine"),
    "evaluation": ("run_id", "evaluation_id"),
}
SCHEMA = pa.schema(
    [("record_kind", pa.string())]
    + [(n, pa.string()) for n in (*TEXTS["run"], "evaluation_id", "journal")]
    + [("seconds", pa.float64()), ("started", pa.float64()), ("end", pa.int64())]
)


def read_journals(folder: Path, after: Mapping[str, int] | None = None) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for name, kind in (("run", RUN), ("evaluation", EVALUATION)):
        for path in kind.paths(folder):
            number = 0
            for _, columns in journal_blocks(kind, path, Reading()):
                found = {n: columns.texts(n).to_pylist() for n in TEXTS[name]}
                found |= {n: columns.numbers(n).tolist() for n in ("seconds", "started")}
                for values in zip(*found.values(), strict=True):
                    number += 1
                    if number > (after or {}).get(path.name, 0):
                        more = {"record_kind": name, "journal": path.name, "end": number}
                        rows.append(dict(zip(found, values, strict=True)) | more)
    return pa.Table.from_pylist(rows, SCHEMA)
