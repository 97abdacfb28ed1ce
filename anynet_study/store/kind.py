"""What kind of records a journal holds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from anynet_study.store.decoding import Columns

T = TypeVar("T")

#: How the name of every journal ends.
SUFFIX = ".arrow"
#: How that of a journal of evaluations ends.
EVALUATIONS_SUFFIX = ".evaluations.arrow"


@dataclass(frozen=True, eq=False)
class RecordKind(Generic[T]):
    """Records of one kind, of which a journal holds no other."""

    #: What messages call one.
    name: str
    #: How the names of their journals end.
    suffix: str
    #: Of every version, from 1 on. Later ones have more columns: of text, "" in older records; of
    #: float64, NaN there; and lists of float32, there NaN and as long as the first list.
    schemas: tuple[pa.Schema, ...]
    to_batch: Callable[[T], pa.RecordBatch]
    #: Raises ValueError for a row that contradicts itself.
    from_batch: Callable[[pa.RecordBatch], T]
    #: The rows, ascending, that `from_batch` may refuse; it takes all the others. Raises
    #: `decoding.OddFrameError` where a text is not UTF-8.
    suspects: Callable[["Columns"], NDArray[np.int64]]

    @property
    def version(self) -> int:
        """The version that is written."""
        return len(self.schemas)

    @property
    def schema(self) -> pa.Schema:
        return self.schemas[-1]

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of one row with the columns that later versions added."""
        there = batch.schema.names
        lists = [name for name in there if pa.types.is_list(batch.schema.field(name).type)]
        length = len(batch[lists[0]][0])
        values = [
            batch[field.name] if field.name in there else pa.array([_absent(field, length)])
            for field in self.schema
        ]
        typed = [v.cast(kind) for v, kind in zip(values, self.schema.types, strict=True)]
        return pa.record_batch(typed, schema=self.schema)

    def paths(self, folder: Path) -> list[Path]:
        """Their journals in a folder, sorted by name; none if the folder does not exist."""
        there = (path for path in folder.glob(f"*{SUFFIX}") if path.is_file())
        return sorted(filter(self.owns, there))

    def owns(self, path: Path) -> bool:
        """Whether a file, by its name, is one of their journals, or could become one."""
        of_evaluations = path.name.endswith(EVALUATIONS_SUFFIX)
        return path.name.endswith(SUFFIX) and of_evaluations == (self.suffix == EVALUATIONS_SUFFIX)


def _absent(field: pa.Field, length: int) -> object:
    """What a record of before there was this column has in it."""
    if pa.types.is_list(field.type):
        return [float("nan")] * length
    return "" if pa.types.is_string(field.type) else float("nan")
