"""The facts of a study as tables for people, and what goes into files."""

from collections.abc import Sequence

import pandas as pd

from anynet_study.analyses import TABLES
from anynet_study.plots import wording
from anynet_study.report.grid import Grid
from anynet_study.report.summary import Summary
from anynet_study.study import Study


def error_grid(errors: pd.DataFrame, datasets: pd.DataFrame) -> Grid:
    """The spread of the errors on each dataset."""
    chance = dict(zip(datasets["dataset"], datasets["chance"], strict=True))
    rows = []
    for name in errors.columns:
        known = errors[name].dropna()
        quantiles = known.quantile([0, 0.25, 0.5, 0.75, 1])
        cells = ["–" if pd.isna(value) else f"{value:.2f}" for value in quantiles]
        guess = f"{chance[name]:.1f}" if pd.notna(chance.get(name)) else "–"
        rows.append([name, *cells, guess, str(len(known))])
    headings = ["dataset", "lowest", "lower quartile", "median", "upper quartile", "highest"]
    return Grid([*headings, "guessing", "n"], rows)


def dataset_grid(datasets: pd.DataFrame) -> Grid:
    """What the networks were trained and tested on."""
    rows = [
        [
            row["dataset"],
            row["role"],
            row["base"],
            *(_count(row[name]) for name in ("classes", "train_images", "test_images")),
            wording.metric_name(row["metric"]).strip(),
            _count(row["epochs"]),
        ]
        for _, row in datasets.iterrows()
    ]
    headings = ["dataset", "role", "of", "classes", "training images", "test images"]
    return Grid([*headings, "error", "epochs"], rows, names=3)


def _count(count: float) -> str:
    """Of imported results not every count is known."""
    return "–" if pd.isna(count) else f"{int(count):,}"


def text_grid(table: pd.DataFrame, names: int = 1) -> Grid:
    """A table of counts and texts as it is."""
    return Grid(list(table.columns), table.astype(str).to_numpy().tolist(), names)


def facts_grid(facts: dict[str, str]) -> Grid:
    """Names and values, without a heading."""
    return Grid([], [[name, value] for name, value in facts.items()], names=2)


def csv_tables(study: Study, summary: Summary) -> dict[str, pd.DataFrame]:
    """The tables that go into files, in full precision, by file name."""
    facts = {"datasets": summary.datasets, "runs": summary.runs, "failures": summary.failures}
    return {"errors": study.errors.reset_index(), **study.tables, **facts}


TABLE_NAMES: Sequence[str] = ("errors", *TABLES, "datasets", "runs", "failures")
