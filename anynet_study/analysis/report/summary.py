"""Facts of a study, without statistics: its data, what is missing, and its origin."""

import json
from dataclasses import dataclass
from typing import Any

import pandas as pd
import yaml

from anynet_study.analysis.apr import exclusions
from anynet_study.analysis.study import Study
from anynet_study.core.progress import duration
from anynet_study.core.provenance import code_version
from anynet_study.design_space import origin
from anynet_study.store import Publication, ResultStore, mixed_backends

STATUSES = ("completed", "diverged", "failed")


@dataclass(frozen=True)
class Summary:
    """Facts of a study, ready to be shown."""

    name: str
    question: str
    architectures: int
    datasets: pd.DataFrame
    #: Per dataset: runs planned and recorded, by status; architectures without an error.
    runs: pd.DataFrame
    #: Why runs failed: dataset, kind, message of the first, runs.
    failures: pd.DataFrame
    #: Gaps in the table of errors, as `apr.exclusions` returns them.
    exclusions: pd.DataFrame
    #: Journals that could not be read completely.
    problems: list[str]
    planned: int | None
    recorded: int
    failed: int
    compute: str
    sampling: dict[str, str]
    versions: dict[str, str]
    sweep: str
    created: str


def summarise(store: ResultStore, errors: pd.DataFrame) -> Summary:
    """Read the facts of a store, of which these errors are analysed."""
    runs, provenance = store.runs(), store.provenance
    planned_runs = runs[runs["planned"]]
    journals = store.journals()
    bad = journals[journals["problem"] != ""]
    sweep, shown = _mapping(provenance.get("sweep", "")), Publication()  # pages are sent to others
    return Summary(
        name=study_name(store),
        question=shown.text(provenance.get("question") or str(sweep.get("question") or "")),
        architectures=len(errors),
        datasets=store.datasets(),
        runs=count_runs(planned_runs, errors),
        failures=count_failures(planned_runs),
        exclusions=exclusions(errors) if len(errors.columns) else pd.DataFrame(),
        problems=[f"{row.journal}: {row.problem}" for row in bad.itertuples()],
        planned=store.planned_runs,
        recorded=len(planned_runs),
        failed=int((planned_runs["status"] == "failed").sum()),
        compute=duration(float(planned_runs["seconds"].sum())),
        sampling=describe_sampling(provenance.get("sampling", "")),
        versions=_versions(store, planned_runs),
        sweep=shown.sweep(provenance.get("sweep", "")),
        created=provenance.get("created", ""),
    )


def summarise_table(study: Study) -> Summary:
    """The facts of a table of errors, which says little of how they were made."""
    errors, roles = study.errors, study.known("roles")
    known = study.known("datasets")
    datasets = pd.DataFrame({"dataset": errors.columns}) if known is None else known
    names = [str(name) for name in datasets["dataset"]]
    role, classes = dict[str, str](), dict[str, int]()
    if roles:
        role = dict.fromkeys(roles.targets, "target") | dict.fromkeys(roles.family, "family")
        role[roles.source] = "source"
        classes = {name: count for name, count in (roles.family | roles.targets).items() if count}
    told: dict[str, list[Any]] = {
        "role": [role.get(name, "") for name in names],
        "base": [""] * len(names),
    }
    told["metric"] = [study.metrics.get(name, "") for name in names]
    told["classes"] = [classes.get(name) for name in names]
    unknown = ("train_images", "test_images", "epochs", "chance")
    told |= {name: [None] * len(names) for name in unknown}
    datasets = datasets.assign(**{name: it for name, it in told.items() if name not in datasets})
    return Summary(
        name=study.name,
        question="",
        architectures=len(errors),
        datasets=datasets,
        runs=pd.DataFrame(),
        failures=pd.DataFrame(),
        exclusions=exclusions(errors) if len(errors.columns) else pd.DataFrame(),
        problems=[],
        planned=None,
        recorded=int(errors.notna().to_numpy().sum()),
        failed=0,
        compute="",
        sampling=describe_sampling(""),
        versions={
            "table": study.name,
            "values": study.inputs.read_as,
            "code of the report": code_version(),
        },
        sweep="",
        created="",
    )


def study_name(store: ResultStore) -> str:
    """The name in the study's sweep; without a sweep, the name of the store's file or folder."""
    path = store.path.resolve()
    by_place = path.parent.name if path.name == "results.h5" else path.stem
    return str(_mapping(store.provenance.get("sweep", "")).get("name") or by_place)


def count_runs(runs: pd.DataFrame, errors: pd.DataFrame) -> pd.DataFrame:
    """Planned runs by status, one row per dataset; and the architectures that lack an error."""
    counts = pd.crosstab(runs["dataset"], runs["status"])
    counts = counts.reindex(index=errors.columns, columns=list(STATUSES), fill_value=0)
    counts["architectures without an error"] = errors.isna().sum()
    return counts.rename_axis("dataset").reset_index()


def count_failures(runs: pd.DataFrame) -> pd.DataFrame:
    """Failed runs by dataset and kind, with the message of the first."""
    failed = runs[runs["status"] == "failed"]
    groups = failed.groupby(["dataset", "failure_kind"], sort=False)["message"]
    return (
        groups.agg(["first", "size"])
        .reset_index()
        .set_axis(["dataset", "kind", "message of the first", "runs"], axis=1)
    )


def describe_sampling(text: str) -> dict[str, str]:
    """Tell how the population was drawn, from the JSON that `Population` keeps."""
    sampling = _mapping(text)
    space = sampling.get("space", {})
    declared = {key.replace("_", " "): str(value) for key, value in space.items() if value}
    return origin(sampling) | declared


def _versions(store: ResultStore, runs: pd.DataFrame) -> dict[str, str]:
    columns = {
        **{"device": "devices", "processor": "processors", "backend": "numeric backend"},
        **{"libraries": "libraries", "code_version": "code of the runs"},
    }
    facts = {}
    for name, title in columns.items():
        counts = runs[name].value_counts(sort=False)
        told = {value: count for value, count in counts.items() if value}
        if told:  # imported results say little of how they were made
            facts[title] = ", ".join(f"{value} ({count:,} runs)" for value, count in told.items())
    whole = store.table("runs")
    if mixed := mixed_backends(whole.filter(whole["planned"])):
        facts["mixed"] = mixed
    return facts | {"code of the store": store.provenance.get("code_version", "")}


def _mapping(text: str) -> dict[str, Any]:
    """Parse JSON or YAML that holds a mapping; anything else counts as empty."""
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return {}
    return value if isinstance(value, dict) else {}
