"""Further test sets: lines, gaps, ranks and robustness (papers 2, 4 and 5)."""

from functools import partial

import numpy as np
import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.plots import wording
from anynet_study.report.analyses.kind import AnalysisKind, Options, Parts, intervals, stacked
from anynet_study.report.study import StudyTables

NO_SHIFTS = "no runs were evaluated on further test sets"


def shifts(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Accuracy on a further test set as a line on that on the dataset's own."""
    parts: Parts = {}
    for dataset, table in accuracies(tables).items():
        for name in table.columns[1:]:
            make = partial(_line, table["test"], table[name], options)
            parts[dataset, str(name)] = make
    return stacked(["dataset", "test_set"], parts, tables.workings.report)


def gaps(tables: StudyTables, options: Options) -> pd.DataFrame:
    """What each architecture loses on a further test set, and how its rank changes."""
    parts: Parts = {}
    for dataset, table in accuracies(tables).items():
        for name in table.columns[1:]:
            counted = _counts(tables, dataset, table[["test", name]])
            parts[dataset, str(name)] = partial(
                apr.gaps,
                table,
                "test",
                name,
                counted,
                **intervals(options),
            )
    return stacked(["dataset", "test_set"], parts, tables.workings.report)


def sampling_gaps(tables: StudyTables, options: Options) -> pd.DataFrame:
    """How much of what is lost can be the further test set's sampling error."""
    parts: Parts = {}
    for dataset, table in accuracies(tables).items():
        for name in table.columns[1:]:
            counted = _counts(tables, dataset, table[["test", name]])
            if counted is None:
                raise UserError("how many images the test sets have is not known")
            make = partial(apr.sampling_gaps, table, "test", name, counted, options.level)
            parts[dataset, str(name)] = make
    return stacked(["dataset", "test_set"], parts, tables.workings.report)


def agreement(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Correlation of the errors on further test sets with those on the dataset's own."""
    parts: Parts = {
        (dataset,): partial(apr.shift_agreement, table, **intervals(options))
        for dataset, table in _shifted(tables).items()
    }
    return stacked(["dataset"], parts, tables.workings.report)


def ranks(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Mean error and rank of each architecture over all test sets."""
    parts: Parts = {
        (dataset,): partial(apr.shift_ranks, table, **intervals(options))
        for dataset, table in _shifted(tables).items()
    }
    return stacked(["dataset"], parts, tables.workings.report)


def robustness(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Average accuracy over further test sets, and its ratio to that on the dataset's own."""
    parts: Parts = {
        (dataset,): partial(apr.average_robustness, table, "test", level=options.level)
        for dataset, table in accuracies(tables).items()
    }
    return stacked(["dataset"], parts, tables.workings.report)


def effective(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Accuracy beyond what the line through all architectures expects."""
    parts: Parts = {
        (dataset,): partial(
            apr.effective_robustness,
            table,
            "test",
            images=_counts(tables, dataset, table),
            level=options.level,
        )
        for dataset, table in accuracies(tables).items()
    }
    return stacked(["dataset"], parts, tables.workings.report)


def _counts(tables: StudyTables, dataset: str, table: pd.DataFrame) -> dict[str, int] | None:
    """Images of the test sets in a table; None unless all are known."""
    known = tables.images.get(dataset, {})
    return {name: known[name] for name in table} if set(table) <= set(known) else None


def _line(x: pd.Series, y: pd.Series, options: Options) -> pd.DataFrame:
    fits = []
    for scale in ("linear", "logit"):
        found = apr.linear_fit(x, y, scale, **intervals(options))
        fits.append({"scale": scale, "drop": float(np.nanmean(x - y)), **found.row()})
    return pd.DataFrame(fits)


def _shifted(tables: StudyTables) -> dict[str, pd.DataFrame]:
    """Errors by dataset. Of a table from no store, targets with the source's class count are its.

    Raises UserError where there are no further test sets.
    """
    if tables.shifted:
        return tables.shifted
    if tables.roles is not None and tables.datasets is None:
        source, classes = tables.roles.source, tables.roles.family[tables.roles.source]
        same = [name for name, count in tables.roles.targets.items() if count == classes]
        if same and set(same) <= set(tables.errors):
            table = tables.errors[[source, *same]]
            return {source: table.rename(columns={source: "test"})}
    raise UserError(NO_SHIFTS)


def accuracies(tables: StudyTables) -> dict[str, pd.DataFrame]:
    """By dataset, architectures x test sets in percent, "test" first.

    Raises UserError where there are no further test sets.
    """
    return {name: 100 - table for name, table in _shifted(tables).items()}


def arrange_sampling(table: pd.DataFrame) -> pd.DataFrame:
    """Each part of a drop as one cell: where it lies."""
    shown = table.drop(columns=["generalization_low", "generalization_high", "beyond"])
    shown = shown.drop(columns=["rest_low", "rest_high"])
    for name, column in (("by sampling", "generalization"), ("rest", "rest")):
        ends = zip(table[f"{column}_low"], table[f"{column}_high"], strict=True)
        shown[name] = ["–" if np.isnan(low) else wording.interval(low, high) for low, high in ends]
    return shown.assign(beyond=table["beyond"])


KINDS = {
    "shifts": AnalysisKind(
        "Accuracy on further test sets as a line on that on the dataset's own",
        shifts,
        {"r2": "R²", "adjusted_r2": "", "excluded": "", "missing": "", "method": "", "level": ""},
    ),
    "shift-agreement": AnalysisKind(
        "Correlation of the errors on further test sets with those on the dataset's own",
        agreement,
        {"estimate": "correlation", "error": "mean error", "evaluation": "test set"},
    ),
    "gaps": AnalysisKind("What is lost on a further test set, and changes of rank", gaps),
    "sampling-gaps": AnalysisKind(
        "How much of what is lost can be the sampling error of the further test set (points)",
        sampling_gaps,
        {"rest": "for other reasons", "beyond": "beyond sampling"},
        arrange_sampling,
    ),
    "shift-ranks": AnalysisKind("Mean error and rank over all test sets", ranks),
    "robustness": AnalysisKind("Average accuracy over further test sets", robustness),
    "effective-robustness": AnalysisKind(
        "Accuracy beyond what the line through all architectures expects", effective
    ),
}
