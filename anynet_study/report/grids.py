"""The statistics as tables for people: an estimate with its interval is one cell."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from anynet_study.plots import wording
from anynet_study.report.analysis import Analysis
from anynet_study.report.summary import Summary


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first `names` columns hold names, the others numbers."""

    headings: list[str]
    rows: list[list[str]]
    names: int = 1


def match_grid(table: pd.DataFrame) -> Grid:
    """Source against closest family member, as paper 1, Table 3."""
    rows = []
    for _, row in (table if len(table) > 2 else table.head(1)).iterrows():
        member = f"{row['member']} ({row['member_classes']})" if row["member"] else ""
        classes = "" if pd.isna(row["classes"]) else f" ({row['classes']})"
        cells = [_cell(row, name) for name in ("rho_source", "rho_member", "difference")]
        rows.append([row["target"] + classes, member, *cells, _counts(row)])
    headings = ["target (classes)", "closest member (classes)"]
    return Grid(
        [*headings, "ρ with source", "ρ with member", "difference", _heading(table)], rows, names=2
    )


def proxy_grid(table: pd.DataFrame) -> Grid:
    """Each target's proxies, best first."""
    rows = [
        [
            row["target"],
            row["proxy"],
            _cell(row),
            "–" if pd.isna(row["probability_best"]) else f"{100 * row['probability_best']:.0f}%",
            _counts(row),
        ]
        for _, row in table.iterrows()
    ]
    return Grid(["target", "proxy", "ρ", "best in resamples", _heading(table)], rows, names=2)


def pairs_grid(table: pd.DataFrame) -> Grid:
    """All pairs of datasets."""
    rows = [
        [row["source"], row["target"], _cell(row), p_value(row["p"]), _counts(row)]
        for _, row in table.iterrows()
    ]
    return Grid(["dataset", "dataset", "ρ", "p", _heading(table)], rows, names=2)


def driver_grid(table: pd.DataFrame) -> Grid:
    """Cumulative depth and width, a row a dataset (paper 1, Table 4)."""
    parameters = list(dict.fromkeys(table["parameter"]))
    rows = []
    for dataset, group in table.groupby("dataset", sort=False):
        by_parameter = group.set_index("parameter")
        cells = [_cell(by_parameter.loc[name]) for name in parameters]
        rows.append([str(dataset), *cells, _counts(group.iloc[0])])
    return Grid(["dataset", *(f"ρ with {name}" for name in parameters), _heading(table)], rows)


def ceiling_grid(table: pd.DataFrame) -> Grid:
    """Training noise and the ceiling that it puts on correlations."""
    rows = []
    for _, row in table.iterrows():
        icc = f"{wording.number(row['icc'])} {wording.interval(row['icc_low'], row['icc_high'])}"
        rows.append(
            [
                row["dataset"],
                f"{row['within_std']:.3g}",
                f"{row['between_std']:.3g}",
                icc if pd.notna(row["icc"]) else "–",
                wording.number(row["ceiling"]),
                f"{row['architectures']:.0f}",
                f"{row['replicates']:.0f}",
            ]
        )
    headings = ["dataset", "sd within (points)", "sd between (points)", "ICC"]
    return Grid([*headings, "ceiling of ρ", "architectures", "runs"], rows)


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


def plain_grid(table: pd.DataFrame, names: int = 1) -> Grid:
    """A table of counts and texts as it is."""
    return Grid(list(table.columns), table.astype(str).to_numpy().tolist(), names)


def facts_grid(facts: dict[str, str]) -> Grid:
    """Names and values, without a heading."""
    return Grid([], [[name, value] for name, value in facts.items()], names=2)


def p_value(p: float) -> str:
    """Write a p-value; "–" where there is none."""
    if pd.isna(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _heading(table: pd.DataFrame) -> str:
    return "n (effective)" if "effective" in table else "n"


def _counts(row: pd.Series) -> str:
    """The architectures, and how many of equal weight say as much where they have weights."""
    return f"{row['n']} ({row['effective']:.1f})" if "effective" in row else str(row["n"])


def _cell(row: pd.Series, name: str = "") -> str:
    """Estimate and interval of `name` (its columns name, name_low, name_high; "": estimate)."""
    estimate = row[name or "estimate"]
    if pd.isna(estimate):
        return "–"
    low, high = (row[f"{name}_{end}" if name else end] for end in ("low", "high"))
    return f"{wording.number(estimate)} {wording.interval(low, high)}"


def csv_tables(analysis: Analysis, summary: Summary) -> dict[str, pd.DataFrame]:
    """The tables that go into files, in full precision, by file name."""
    tables = {
        "errors": analysis.tables.errors.reset_index(),
        "correlations": analysis.correlations,
        "match": analysis.match,
        "proxies": analysis.proxies,
        "drivers": analysis.drivers,
        "noise": analysis.ceiling,
        "datasets": summary.datasets,
        "runs": summary.runs,
        "failures": summary.failures,
    }
    return {name: table for name, table in tables.items() if table is not None}


TABLE_NAMES: Sequence[str] = (
    *("errors", "correlations", "match", "proxies", "drivers", "noise"),
    *("datasets", "runs", "failures"),
)
