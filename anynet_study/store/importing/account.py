"""What was understood of a table of results: typed, and printed by `import --dry-run`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

#: Datasets that are shown.
SHOWN = 12


class TableAccount(BaseModel):
    """What each column of a table of results was taken for."""

    model_config = ConfigDict(frozen=True)

    file: str
    #: The column that names the models, and how many there are.
    models_from: str
    models: int
    #: The median error of each in percent.
    datasets: dict[str, float]
    #: Whether each row is a run, not a model.
    long: bool
    quantity: Literal["error", "accuracy"]
    unit: Literal["percent", "fraction"]
    #: Columns of the run, ours to the table's.
    run_columns: dict[str, str]
    #: In words: which columns are the spread over trainings, and which may be but are not used.
    spread: str
    #: Columns that describe the models, and columns that were left out.
    describing: tuple[str, ...]
    ignored: tuple[str, ...]

    def lines(self) -> list[str]:
        """The account for a terminal."""
        some = [f"{name} {median:.4g}" for name, median in list(self.datasets.items())[:SHOWN]]
        more = f", and {len(self.datasets) - SHOWN} more" if len(self.datasets) > SHOWN else ""
        run = ", ".join(f"{ours} from {theirs}" for ours, theirs in self.run_columns.items())
        return [
            f"{self.file}: {'one row per run' if self.long else 'one row per model'}",
            f"models: {self.models:,} from column {self.models_from!r}",
            f"values: {self.quantity}, read as {self.unit}",
            f"datasets: {len(self.datasets)}, median error in percent: {', '.join(some)}{more}",
            f"columns of the runs: {run or 'none'}",
            f"spread over trainings: {self.spread}",
            f"columns that describe models: {', '.join(self.describing) or 'none'}",
            f"columns left out: {', '.join(self.ignored) or 'none'}",
        ]
