"""Tell what makes the answer of a study worth little, the worst first, and what to do about it.

Every command and page that shows an answer shows this before it. It rests on the runs alone, so
that it can be told of a study that still trains, and of a table of errors.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import counted, listed, some_of
from anynet_study.core.metrics import shown_below

# pandas, scipy and what trains are imported where they are used: `status` seldom needs them.
if TYPE_CHECKING:
    import pandas as pd

    from anynet_study.analysis.study import Study

#: The worst first: no order can be read from networks that guess, and none from noise.
Kind = Literal["guessing", "noise", "missing", "failed", "edited", "backends", "few"]
#: Fewer architectures than this give intervals too wide for more than a first impression, and
#: fewer than that give hardly any answer.
FEW, TOO_FEW = 50, 10
#: The share of a dataset's architectures that guess, or of the runs that lack, which is serious.
SERIOUS = 0.25
NONE: NDArray[np.float64] = np.empty(0)
#: Columns of tables of runs.
RUNS = ["architecture", "dataset", "replicate", "status", "error"]


@dataclass(frozen=True)
class Concern:
    """One thing that makes an answer worth less."""

    kind: Kind
    #: A sentence or two.
    said: str
    #: What to do about it; "" where nothing can be done with this study.
    advice: str = ""
    #: Whether it leaves hardly anything of the answer.
    serious: bool = False

    def __str__(self) -> str:
        return f"{self.said} {self.advice}".rstrip()


@dataclass(frozen=True)
class Evidence:
    """Facts on the runs of a study, or on a table of errors, under the recipe that counts.

    Of runs that are recorded, and asked for.
    """

    #: By dataset, the mean error of each architecture that has one there, in percent.
    errors: Mapping[str, NDArray[np.float64]]
    #: How many runs there are, by dataset and status.
    runs: Counter[tuple[str, str]]
    #: How many architectures have an error.
    architectures: int
    #: Of each dataset: `dataset`, and chance, test_images and metric where they are known.
    datasets: Sequence[Mapping[str, Any]]
    #: All runs that are asked for, by dataset; none where that is not known.
    planned: Mapping[str, int] = field(default_factory=dict)
    #: As `apr.noise_ceiling` returns it; None where nothing was trained twice.
    noise: "pd.DataFrame | None" = None
    #: How many architectures of equal weight the sample is worth; None: as many as it has.
    effective: float | None = None
    #: What `store.edited_functions` and `store.mixed_backends` say.
    edited: str = ""
    backends: str = ""
    #: Whether the study trains its networks, so that they can be trained otherwise.
    trains: bool = True

    @classmethod
    def of(cls, runs: "pd.DataFrame", datasets: "pd.DataFrame", **known: Any) -> "Evidence":
        """Make it of a table of RUNS and one of datasets; weighted samples have no known noise."""
        twice = runs.duplicated(["architecture", "dataset"]).any()
        if twice and known.get("effective") is None:
            from anynet_study.analysis.analyses.noise import noise_of

            known["noise"] = noise_of(runs)
        there = runs[runs["error"].notna()]
        means = there.groupby(["dataset", "architecture"], observed=True)["error"].mean()
        by_dataset = means.groupby(level="dataset", observed=True)
        counts = runs.groupby(["dataset", "status"], observed=True).size()
        return cls(
            {str(name): part.to_numpy() for name, part in by_dataset},
            Counter({(str(name), str(how)): count for (name, how), count in counts.items()}),
            there["architecture"].nunique(),
            datasets.to_dict("records"),
            **known,
        )


def concerns_of(study: "Study") -> list[Concern]:
    """Return what makes the answer of a study worth little, the worst first."""
    return concerns(evidence_of(study))


def concerns(evidence: Evidence) -> list[Concern]:
    """Return what it says against an answer; the serious ones first, and of these the worst
    kind.
    """
    found = [
        *_guessing(evidence),
        *_noise(evidence),
        *_missing(evidence),
        *_failed(evidence),
        *_told("edited", evidence.edited),
        *_told("backends", evidence.backends),
        *_few(evidence),
    ]
    kinds = get_args(Kind)
    return sorted(found, key=lambda it: (not it.serious, kinds.index(it.kind)))


def evidence_of(study: "Study") -> Evidence:
    """Return what a loaded study knows of its runs."""
    import pandas as pd

    from anynet_study.store import edited_functions, mixed_backends

    if study.store is None:
        known = study.known("datasets")
        datasets = pd.DataFrame({"dataset": study.errors.columns}) if known is None else known
        long = study.errors.rename_axis("architecture").melt(
            ignore_index=False, var_name="dataset", value_name="error"
        )
        runs = long.dropna().reset_index().assign(replicate=0, status="completed")
        return Evidence.of(runs, datasets, effective=study.effective, trains=False)
    columns = [*RUNS, "recipe", "planned", "backend", "instruction_set", "threads"]
    columns.append("function_digest")
    table = study.store.table("runs", columns)
    runs = table.to_pandas()
    mine = runs["planned"] & study.store.stands(runs, study.options.recipe)
    planned = study.store.planned_runs
    trains = bool(study.store.provenance.get("sweep"))
    lacking = 0 if planned is None else planned - int(runs["planned"].sum())
    return Evidence.of(
        runs.loc[mine, RUNS],
        study.store.datasets(),
        planned={"": lacking + int(mine.sum())} if trains else {},
        effective=study.effective,
        edited=edited_functions(table.filter(table["planned"])),
        backends=mixed_backends(table.filter(table["planned"])),
        trains=trains,
    )


def _guessing(evidence: Evidence) -> list[Concern]:
    """Networks whose error is not shown to be below that of one guess for all images."""
    said, found = [], _guessers(evidence)
    if not found:
        return []
    chances = {str(row["dataset"]): row["chance"] for row in evidence.datasets if "chance" in row}
    for name, count in found.items():
        of = f"{count:,} of {len(evidence.errors[name]):,} architectures on {name}"
        said.append(f"{of} (error of guessing: {chances[name]:.1f}%)")
    names = list(found)
    worst = max(count / len(evidence.errors[name]) for name, count in found.items())
    diverged = sum(evidence.runs[name, "diverged"] for name in names)
    return [
        Concern(
            "guessing",
            f"Not shown to do better than guessing: {listed(said)}. Their "
            "order there may say nothing about them.",
            _train_better(names, diverged) if evidence.trains else "",
            worst >= SERIOUS,
        )
    ]


def _guessers(evidence: Evidence) -> dict[str, int]:
    """By dataset, how many architectures are not shown to do better than guessing, if any."""
    found = {}
    for row in evidence.datasets:
        chance, errors = row.get("chance", math.nan), evidence.errors.get(str(row["dataset"]), NONE)
        least = shown_below(chance, row.get("test_images") or math.nan, row.get("metric"))
        if count := int((errors >= least).sum()):
            found[str(row["dataset"])] = count
    return found


def _train_better(names: Sequence[str], diverged: int) -> str:
    where = listed(some_of(names, 6))
    if diverged:
        return (
            f"{counted(diverged, 'run')} there diverged: lower the learning rate on {where}, or "
            "give it more epochs of warm-up."
        )
    return (
        f"Train longer or with a higher learning rate on {where}; anynet-study pilot finds both "
        "on validation images."
    )


def _noise(evidence: Evidence) -> list[Concern]:
    """Datasets whose runs differ by training noise more than by their architectures."""
    if evidence.noise is None:
        return []
    from anynet_study.analysis.analyses.noise import MOSTLY, NOT_SHOWN, hidden_by_noise
    from anynet_study.analysis.claims import sentences

    claims, advice = hidden_by_noise(evidence.noise), ""
    if evidence.trains:
        advice = (
            "Train longer there, take a wider band or space of architectures, or train each more "
            "often (replicates)."
        )
    found = []
    for kind, more in ((NOT_SHOWN, " A low correlation there may be noise."), (MOSTLY, "")):
        said = sentences([it for it in claims if it.kind is kind], [kind])
        if said:
            found.append(Concern("noise", " ".join(said) + more, advice, kind is NOT_SHOWN))
    return found


def _missing(evidence: Evidence) -> list[Concern]:
    """Runs that are asked for and not recorded."""
    asked, there = sum(evidence.planned.values()), evidence.runs.total()
    if asked <= there:
        return []
    by_dataset: Counter[str] = Counter()
    for (name, _), count in evidence.runs.items():
        by_dataset[name] += count
    lacking = {
        name: count - by_dataset[name]
        for name, count in evidence.planned.items()
        if name and count > by_dataset[name]
    }
    where = listed(some_of([f"{count:,} on {name}" for name, count in lacking.items()], 6))
    said = f"{asked - there:,} of {counted(asked, 'planned run')} are not recorded yet"
    text = f"{said} ({where})." if where else f"{said}."
    advice = "If no job of the study runs, run or launch the sweep again; what is recorded is kept."
    return [Concern("missing", text, advice, (asked - there) / asked >= SERIOUS)]


def _failed(evidence: Evidence) -> list[Concern]:
    failed = {name: count for (name, how), count in evidence.runs.items() if how == "failed"}
    if not failed:
        return []
    most_first, total = Counter(failed).most_common(), evidence.runs.total()
    where = listed(some_of([f"{count:,} on {name}" for name, count in most_first], 6))
    count = sum(failed.values())
    text = f"{count:,} of {counted(total, 'run')} failed ({where})."
    advice = "See why in the report, then: anynet-study retry." if evidence.trains else ""
    return [Concern("failed", text, advice, count / total >= SERIOUS)]


def _told(kind: Kind, text: str) -> list[Concern]:
    return [Concern(kind, f"{text[0].upper()}{text[1:]}.")] if text else []


def _few(evidence: Evidence) -> list[Concern]:
    count, effective = evidence.architectures, evidence.effective
    worth = min(count, effective or count)
    if worth >= FEW or not count:  # of none, there is no answer either
        return []
    weighted = f", of unequal weights and as good as {effective:.0f}," if effective else ""
    text = (
        f"With {counted(count, 'architecture')}{weighted} the intervals are wide: read this as a "
        "first impression."
    )
    advice = (
        "Take more (population.count or networks): finished runs are kept."
        if evidence.trains and not _missing(evidence)
        else ""
    )
    return [Concern("few", text, advice, worth < TOO_FEW)]
