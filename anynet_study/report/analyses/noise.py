"""How much of the errors is training noise (paper 1, section 6.1.3)."""

import pandas as pd

from anynet_study import apr
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import NO_REPLICATES, AnalysisKind, Options, replicates_in
from anynet_study.report.study import StudyTables


def noise(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Variance within and between architectures, and the ceiling of correlations."""
    table = apr.noise_ceiling(replicates_in(tables), options.level)
    if table.empty:
        raise UserError(NO_REPLICATES)
    return table


KINDS = {
    "noise": AnalysisKind(
        "Training variability and the ceiling it puts on correlations",
        noise,
        {"replicates": "runs", "icc": "ICC"}
        | {"within_std": "std within", "between_std": "between"},
    ),
}
