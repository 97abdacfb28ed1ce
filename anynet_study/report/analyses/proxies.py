"""Which dataset predicts which (paper 1, sections 4.2 and 4.3)."""

import pandas as pd

from anynet_study import apr
from anynet_study.report.analyses.kind import AnalysisKind, Options, how, roles_in
from anynet_study.report.study import StudyTables


def correlations(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Of every pair of datasets."""
    return apr.correlations(tables.errors, **how(tables, options))


def match(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Source against closest family member."""
    return apr.match_family(tables.errors, roles_in(tables), **how(tables, options))


def proxies(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Every member of the family for every target."""
    return apr.best_proxies(tables.errors, roles_in(tables), **how(tables, options))


def arrange_match(table: pd.DataFrame) -> pd.DataFrame:
    """Class counts beside the names; the average only where it is of several targets."""
    averaged = table["target"] == "average"
    count = int(table.loc[~averaged, "difference"].notna().sum())

    def named(name: str, classes: str) -> pd.Series:
        counts = table[classes].map("{:.0f}".format, na_action="ignore")
        return table[name].where(counts.isna(), table[name] + " (" + counts.astype(str) + ")")

    shown = table.assign(
        target=named("target", "classes").mask(averaged, f"average of {count}"),
        member=named("member", "member_classes").mask(averaged, ""),
    )
    return shown.drop(columns=["classes", "member_classes"])


KINDS = {
    "correlations": AnalysisKind(
        "Correlation of the errors, every pair of datasets",
        correlations,
        {"source": "dataset", "target": "and", "estimate": "correlation"}
        | {"p_holm": "p (Holm)", "p_bh": "", "fisher": ""},
    ),
    "match": AnalysisKind(
        "Targets: correlation with the source and with its closest family member",
        match,
        {"target": "target (classes)", "member": "closest (classes)"}
        | {"rho_source": "source", "rho_member": "closest member"},
        arrange_match,
    ),
    "proxies": AnalysisKind(
        "Proxies for each target, the best first",
        proxies,
        {"estimate": "correlation", "probability_best": "best in resamples"},
    ),
}
