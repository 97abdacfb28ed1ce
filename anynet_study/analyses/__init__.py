"""The analyses of a study, one module for a question or a family of close ones.

Each declares its questions whole: what a question needs, its statistic (of `apr`), its figures (of
`plots`), its sentences, and how a page shows it. `registry` lists all of them: the commands, the
report and the scripts of `analysis/` go through that list. `loading` makes a `Study`.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.analyses.arguments import (
        Family,
        Resamples,
        Source,
        SourceName,
        StudyOptions,
        Targets,
        check_figure,
        parse_roles,
        save_figure,
        with_study_options,
    )
    from anynet_study.analyses.design_spaces import (
        COMPLEXITIES,
        Spaces,
        read_spaces,
        split_by,
        split_by_name,
        weigh,
    )
    from anynet_study.analyses.loading import curves_of, load, study_of
    from anynet_study.analyses.registry import (
        ANALYSES,
        FIGURES,
        SECTIONS,
        TABLES,
        TOPICS,
        Finding,
        Section,
        chosen_names,
        findings,
    )

__all__ = [
    "ANALYSES",
    "COMPLEXITIES",
    "FIGURES",
    "SECTIONS",
    "TABLES",
    "TOPICS",
    "Family",
    "Finding",
    "Resamples",
    "Section",
    "Source",
    "SourceName",
    "Spaces",
    "StudyOptions",
    "Targets",
    "check_figure",
    "chosen_names",
    "curves_of",
    "findings",
    "load",
    "parse_roles",
    "read_spaces",
    "save_figure",
    "split_by",
    "split_by_name",
    "study_of",
    "weigh",
    "with_study_options",
]

__getattr__ = on_first_use(
    __name__,
    {
        **dict.fromkeys(
            (
                "Family",
                "Resamples",
                "Source",
                "SourceName",
                "StudyOptions",
                "Targets",
                "check_figure",
                "parse_roles",
                "save_figure",
                "with_study_options",
            ),
            "arguments",
        ),
        **dict.fromkeys(
            ("COMPLEXITIES", "Spaces", "read_spaces", "split_by", "split_by_name", "weigh"),
            "design_spaces",
        ),
        **dict.fromkeys(("curves_of", "load", "study_of"), "loading"),
        **dict.fromkeys(
            (
                "ANALYSES",
                "FIGURES",
                "SECTIONS",
                "TABLES",
                "TOPICS",
                "Finding",
                "Section",
                "chosen_names",
                "findings",
            ),
            "registry",
        ),
    },
)
