"""Lines of accuracy on accuracy: transfer to targets, and further test sets."""

import pandas as pd

from anynet_study import apr, plots
from anynet_study.plots.style import SERIES
from anynet_study.report.analyses.kind import roles_in
from anynet_study.report.analyses.shifts import accuracies
from anynet_study.report.analysis import Analysis
from anynet_study.report.figures.kind import MOST_PANELS, FigureKind, check_room, drawable


def _evaluated(analysis: Analysis) -> tuple[str, pd.DataFrame]:
    """The dataset that is drawn, the source where it was evaluated, and accuracies on test sets."""
    tables = accuracies(analysis.tables)
    roles = analysis.tables.roles
    name = roles.source if roles and roles.source in tables else next(iter(tables))
    check_room(tables[name].shape[1] - 1, MOST_PANELS, "test sets")
    return name, tables[name]


def _rows(analysis: Analysis, table: str) -> pd.DataFrame:
    """The rows of an analysis that are of the dataset that is drawn."""
    rows = analysis[table]
    return rows[rows["dataset"] == _evaluated(analysis)[0]]


def _targets(analysis: Analysis) -> tuple[pd.DataFrame, str, list[str]]:
    drawable(analysis, "transfer", "slope")
    roles = roles_in(analysis.tables)
    check_room(len(roles.targets), MOST_PANELS, "targets")
    return 100 - analysis.tables.errors, roles.source, list(roles.targets)


def _gaps(analysis: Analysis) -> pd.DataFrame:
    rows = _rows(analysis, "gaps").dropna(subset="gap")
    return rows[rows["test_set"] == rows["test_set"].iloc[0]]


def _baseline(analysis: Analysis) -> str:
    return str(analysis["improvement"]["baseline"].iloc[0])


def _improvements(analysis: Analysis) -> pd.DataFrame:
    baseline, roles = _baseline(analysis), roles_in(analysis.tables)
    names = [roles.source, *roles.targets]
    check_room(len(names), len(SERIES), "datasets with a line of their own")
    known = (100 - analysis.tables.errors[names]).dropna(axis="columns", how="all")
    return apr.relative_improvement(known, baseline)


KINDS: dict[str, FigureKind] = {
    "transfer": FigureKind(
        "Accuracy on each target against that on the source, with a line and its 95% "
        "confidence region.",
        lambda a: plots.transfer_grid(*_targets(a)),
        lambda a: a["transfer"],
        needs=("transfer",),
    ),
    "others": FigureKind(
        "Rank correlation of each target with the source, and with the average of the other "
        "targets, with 95% bootstrap intervals.",
        lambda a: plots.other_targets_chart(a["others"], roles_in(a.tables).source),
        lambda a: a["others"],
        needs=("others",),
    ),
    "shifts": FigureKind(
        "Accuracy on further test sets against that on the dataset's own, with a line and its 95% "
        "confidence region; dotted: equal accuracy.",
        lambda a: plots.fit_grid(_evaluated(a)[1], "test", list(_evaluated(a)[1].columns[1:])),
        lambda a: plots.fit_data(_evaluated(a)[1], "test", list(_evaluated(a)[1].columns[1:])),
        needs=("shifts",),
    ),
    "gaps": FigureKind(
        "What each architecture loses on the first further test set; bars, where the number of "
        "images is known: 95% intervals of sampling error.",
        lambda a: plots.gap_chart(_gaps(a), "its own", str(_gaps(a)["test_set"].iloc[0])),
        lambda a: a["gaps"],
        needs=("gaps",),
    ),
    "improvement": FigureKind(
        "Accuracy on source and targets over that of the architecture that is the median on the "
        "source.",
        lambda a: plots.improvement_chart(_improvements(a), _baseline(a)),
        _improvements,
        needs=("improvement",),
    ),
    "robustness": FigureKind(
        "Accuracy on further test sets against that on the dataset's own; how far a point lies "
        "above the line is its effective robustness.",
        lambda a: plots.effective_robustness_grid(_rows(a, "effective-robustness"), "test"),
        lambda a: a["effective-robustness"],
        needs=("effective-robustness",),
    ),
    "transforms": FigureKind(
        "Ranks of the best architectures over all test sets.",
        lambda a: plots.shift_rank_chart(_rows(a, "shift-ranks")),
        lambda a: a["shift-ranks"],
        needs=("shift-ranks",),
    ),
}
