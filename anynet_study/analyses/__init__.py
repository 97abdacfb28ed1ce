"""The analyses of a study, one module for a question or a family of close ones.

Each declares its questions whole: what a question needs, its statistic (of `apr`), its figures (of
`plots`), its sentences, and how a page shows it. `registry` lists all of them: the commands, the
report and the scripts of `analysis/` go through that list. `loading` makes a `Study`.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.analyses.loading import load, study_of
    from anynet_study.analyses.registry import (
        ANALYSES,
        FIGURES,
        SECTIONS,
        TABLES,
        TOPICS,
        Finding,
        Section,
        findings,
    )

__all__ = [
    "ANALYSES",
    "FIGURES",
    "SECTIONS",
    "TABLES",
    "TOPICS",
    "Finding",
    "Section",
    "findings",
    "load",
    "study_of",
]

__getattr__ = on_first_use(
    __name__,
    {
        **dict.fromkeys(("load", "study_of"), "loading"),
        **dict.fromkeys(
            (
                *("ANALYSES", "FIGURES", "SECTIONS", "TABLES", "TOPICS"),
                *("Finding", "Section", "findings"),
            ),
            "registry",
        ),
    },
)
