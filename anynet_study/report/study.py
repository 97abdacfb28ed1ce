"""The plain tables that a report, tables or a set of figures start from."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from anynet_study.apr import Roles
from anynet_study.report.predictions import Predicted
from anynet_study.store.errors import Reduction


@dataclass(frozen=True)
class Choice:
    """Which runs of a store count, and how they become one error."""

    #: None: the main one.
    recipe: str | None = None
    #: One of `metrics.SHOWN`; None: each dataset's own.
    metric: str | None = None
    replicates: Reduction = "mean"


@dataclass(frozen=True)
class Workings:
    """What analyses of the same tables share while they are made."""

    #: Called with the share of the current one that is done.
    report: Callable[[float], None] = lambda share: None
    #: Tables that several of them rest on, by name; None: each makes its own.
    made: dict[str, pd.DataFrame] | None = None

    def once(self, name: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """The table of this name, made when it is first asked for."""
        if self.made is None:
            return make()
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]


@dataclass(frozen=True)
class StudyTables:
    """What is known of a study; None, or empty, for what it does not have."""

    #: Architectures x datasets, percent, NaN = missing.
    errors: pd.DataFrame
    #: Columns of `Population.to_pandas()`.
    population: pd.DataFrame | None = None
    roles: Roles | None = None
    #: Long: architecture, dataset, replicate, error.
    replicates: pd.DataFrame | None = None
    #: Long: dataset, architecture, epoch, error; the first replicate's test error on its metric.
    curves: pd.DataFrame | None = None
    #: Of each dataset, such as "top1".
    metrics: dict[str, str] = field(default_factory=dict)
    #: As `ResultStore.datasets()`.
    datasets: pd.DataFrame | None = None
    #: Architectures x datasets: top-1 error on the training images in the last epoch.
    training_errors: pd.DataFrame | None = None
    #: Mean seconds of a run on each dataset.
    costs: dict[str, float] = field(default_factory=dict)
    #: Errors under the other recipes, by name.
    recipes: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: Errors on "top1" and "top5", where both are known.
    by_metric: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: Of the runs on a dataset: architectures x test sets, "test" first; only where there are more.
    shifted: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: Of a dataset, its test sets' images, "test" being its own.
    images: dict[str, dict[str, int]] = field(default_factory=dict)
    #: (dataset, test set, architectures) -> what those took its images for.
    predicted: Callable[[str, str, list[str]], Predicted] | None = None
    #: Of a dataset, the test sets in which networks chose among fewer of its classes: how many.
    choices: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Of one pass over the analyses.
    workings: Workings = field(default_factory=Workings, compare=False, repr=False)
