"""Transfer to targets as lines on the source's accuracy (papers 3 and 4)."""

import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import AnalysisKind, Options, intervals, roles_in
from anynet_study.report.study import StudyTables


def transfer(tables: StudyTables, options: Options) -> pd.DataFrame:
    """A line for each target."""
    return apr.transfer_fits(*_scores(tables), **intervals(options))


def beyond(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Do the other targets say more of a target than the source does?"""
    return apr.explained_beyond(*_scores(tables), average="scores")


def others(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Is the average of the other targets a better proxy than the source?"""
    return apr.other_targets(
        *_scores(tables), average="scores", method=options.method, **intervals(options)
    )


def improvement(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Lines through improvements relative to the median architecture on the source."""
    accuracies, source, targets = _scores(tables)
    known = accuracies[[source, *targets]].dropna()[source].sort_values(kind="stable")
    if known.empty:
        raise UserError("no architecture has all errors")
    baseline = known.index[(len(known) - 1) // 2]
    return apr.improvement_fits(
        accuracies[[source, *targets]], source, baseline, **intervals(options)
    ).assign(baseline=baseline)


def _scores(tables: StudyTables) -> tuple[pd.DataFrame, str, list[str]]:
    """Accuracies, source and targets. Raises UserError without roles."""
    roles = roles_in(tables)
    roles.check(tables.errors.columns)
    return 100 - apr.check_errors(tables.errors, 0), roles.source, list(roles.targets)


LINE = {"r2": "R²", "adjusted_r2": "", "excluded": ""}

KINDS = {
    "transfer": AnalysisKind(
        "Accuracy on the targets as a line on that on the source", transfer, LINE
    ),
    "beyond": AnalysisKind(
        "Does the average of the other targets explain more than the source? (F-tests)",
        beyond,
        {"r2_source": "R² of source", "r2_average": "of others", "r2_both": "of both"}
        | {"f_average": "F of others", "p_average": "p", "f_source": "F of source"}
        | {"p_source": "p of source"},
    ),
    "others": AnalysisKind(
        "The average of the other targets as a proxy, against the source",
        others,
        {"rho_source": "source", "rho_average": "average of others"},
    ),
    "improvement": AnalysisKind(
        "Improvement over the median architecture: targets as lines on the source",
        improvement,
        LINE,
    ),
}
