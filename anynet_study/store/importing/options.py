"""What a user says of the files that are imported."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Quantity = Literal["error", "accuracy"]
Unit = Literal["percent", "fraction"]


@dataclass(frozen=True)
class ImportOptions:
    """How tables are read; what is left out is found out from the tables, or refused."""

    #: Our names of columns to those of the files: model, dataset, error, accuracy, replicate, ...
    columns: Mapping[str, str] = field(default_factory=dict)
    #: Columns that describe the models, and columns to leave out.
    describe: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    quantity: Quantity | None = None
    unit: Unit | None = None
    #: "top1" or "top5": of the values; of a table with a column metric, the rows to import.
    metric: str | None = None
    #: Name of the recipe that the models were trained with, where no column says.
    recipe: str = "imported"
    #: Of CSV files; "" finds out.
    separator: str = ""
    encoding: str = ""

    def told(self) -> dict[str, Any]:
        """What was said, for the provenance."""
        return {name: value for name, value in asdict(self).items() if value}
