"""All statistics of a study in one go; what cannot be had is left out with a reason."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import pandas as pd

from anynet_study.errors import UserError
from anynet_study.progress import progress_if_long
from anynet_study.report.analyses import ANALYSES, Options
from anynet_study.report.study import StudyTables, Workings


@dataclass(frozen=True)
class Analysis:
    """Tables of `anynet_study.apr` for one study."""

    tables: StudyTables
    options: Options
    #: By name, in the order of `ANALYSES`.
    found: dict[str, pd.DataFrame]
    #: Name of the analysis -> why it is not there.
    left_out: dict[str, str]

    def get(self, name: str) -> pd.DataFrame | None:
        """The table of an analysis, None where it was not wanted or left out."""
        return self.found.get(name)

    def __getitem__(self, name: str) -> pd.DataFrame:
        """The table of an analysis; UserError with the reason where it was left out."""
        if name not in self.found:
            raise UserError(self.left_out[name])
        return self.found[name]


def analyse(
    tables: StudyTables,
    options: Options = Options(),  # noqa: B008 - it is frozen
    wanted: Collection[str] = tuple(ANALYSES),
) -> Analysis:
    """Compute what is wanted and the tables allow."""
    found: dict[str, pd.DataFrame] = {}
    left_out: dict[str, str] = {}
    kinds = {name: kind for name, kind in ANALYSES.items() if name in wanted}
    made: dict[str, pd.DataFrame] = {}
    with progress_if_long("analysing (%)", 100) as report:
        for done, (name, kind) in enumerate(kinds.items()):

            def on_share(share: float, name: str = name, done: int = done) -> None:
                report(int(100 * (done + share) / len(kinds)), name)

            on_share(0)
            shared = replace(tables, workings=Workings(on_share, made))
            try:
                found[name] = kind.compute(shared, options)
            except UserError as error:
                left_out[name] = str(error)
        report(100)
    return Analysis(tables, options, found, left_out)
