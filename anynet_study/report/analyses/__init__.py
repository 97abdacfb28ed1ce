"""Which statistics a study has: what each is called, needs, and looks like as a table."""

from anynet_study.report.analyses import (
    images,
    noise,
    proxies,
    shifts,
    structure,
    training,
    transfer,
)
from anynet_study.report.analyses.kind import AnalysisKind, Options

#: Every analysis by name, in the order in which all of them are shown.
ANALYSES: dict[str, AnalysisKind] = {
    **proxies.KINDS,
    **structure.KINDS,
    **noise.KINDS,
    **training.KINDS,
    **transfer.KINDS,
    **shifts.KINDS,
    **images.KINDS,
}

__all__ = ["ANALYSES", "AnalysisKind", "Options"]
