"""How far a packing has come, on disk: where the same command goes on after an interruption."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from anynet_study.data.packed.form import Store
from anynet_study.data.packed.meta import Split
from anynet_study.files import write_text

FILE = "packing.json"
#: Between two marks.
SECONDS = 5.0


class SplitMark(BaseModel):
    """What of a split is on disk for good."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: How many of its examples were decoded, the unreadable included, and how many could be.
    examples: int
    rows: int
    #: Hexadecimal: of the files they were decoded from (`stamps.chained`), of labels and images.
    chain: str
    labels: str
    images: str
    #: Reasons of unreadable ones, by position.
    broken: dict[int, str]


class Mark(BaseModel):
    """How far a packing has come."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Of all that decides what is packed; see `packing_key`.
    key: str
    store: Store
    splits: dict[Split, SplitMark]


def read_mark(folder: Path, key: str) -> Mark | None:
    """The mark in `folder` if it is of the packing `key`; None where there is no such."""
    try:
        mark = Mark.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    return mark if mark.key == key else None


class MarkKeeper:
    """Writes marks now and then, in a thread, after waiting for the disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="marks")
        self._pending: Future[None] | None = None
        self._last = time.monotonic()

    def offer(self, mark: Callable[[], Mark], sync: Callable[[], None]) -> None:
        """Keep `mark()` if it is time; `sync` waits until what it says is on disk.

        Raises what the last one met, such as a full disk.
        """
        if time.monotonic() - self._last < SECONDS:
            return
        if self._pending is not None:
            if not self._pending.done():
                return
            self._pending.result()
        self._pending = self._thread.submit(self._keep, mark(), sync)
        self._last = time.monotonic()

    def _keep(self, mark: Mark, sync: Callable[[], None]) -> None:
        sync()
        write_text(self._path, mark.model_dump_json())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
