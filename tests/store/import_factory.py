"""Importing as a user does, in this process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from anynet_study.store import ResultStore
from anynet_study.store.importing import Files, ImportOptions, import_results


def imported(
    out: Path,
    *tables: Path,
    known: Mapping[str, dict[str, Any]] | None = None,
    predictions: Sequence[tuple[str, Path]] = (),
    labels: Mapping[str, Path] | None = None,
    **options: Any,
) -> ResultStore:
    """The store at `out`, made of these files; tables are of errors, if nothing else is said."""
    options.setdefault("quantity", "error")
    files = Files(tables, predictions, labels or {})
    import_results(files, out, ImportOptions(**options), dict(known or {}))
    return ResultStore(out)


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """A file of this text."""
    path.write_bytes(text.encode(encoding))
    return path


def same_errors(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Both have the same models and datasets in one order, and the same errors to the last bit."""
    expected = expected.rename_axis(index="architecture").rename_axis(columns=None)
    pd.testing.assert_frame_equal(
        found, expected, check_exact=True, check_index_type=False, check_column_type=False
    )
