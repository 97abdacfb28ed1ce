"""How much of the errors is training noise (paper 1, section 6.1.3)."""

import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import (
    NO_REPLICATES,
    AnalysisKind,
    Options,
    correlating,
    replicates_in,
)
from anynet_study.report.study import StudyTables


def noise(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Variance within and between architectures, and the ceiling of correlations."""
    table = apr.noise_ceiling(replicates_in(tables), options.level)
    if table.empty:
        raise UserError(NO_REPLICATES)
    return table


def corrected(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Correlations as they would be without training noise."""
    return apr.corrected_correlations(replicates_in(tables), **correlating(options))


def ties(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Does the order on the source hold, where training noise can tell architectures apart?"""
    intervals = apr.replicate_intervals(replicates_in(tables), options.level)
    reference = tables.errors.columns[0] if tables.roles is None else tables.roles.source
    return apr.rank_preservation(intervals, reference)


KINDS = {
    "noise": AnalysisKind(
        "Training variability and the ceiling it puts on correlations",
        noise,
        {"replicates": "runs", "icc": "ICC"}
        | {"within_std": "std within", "between_std": "between"},
    ),
    "corrected": AnalysisKind(
        "Correlations of single runs, and without the noise of training",
        corrected,
        {"source": "dataset", "target": "and", "estimate": "of single runs"}
        | {"icc_source": "", "icc_target": "", "corrected": "without noise"},
    ),
    "ties": AnalysisKind(
        "Order of pairs of architectures against the source, but for overlapping intervals",
        ties,
        {"same": "same order", "preserved": "order holds"},
    ),
}
