"""What makes the answer of a study worth little, the worst first, and what to do about each.

Every command and page that shows an answer shows this before it. It rests on the runs alone, so
that it can be told of a study that still trains, and of a table of errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import pandas as pd

from anynet_study import apr
from anynet_study.analyses.building import listed, some_of, with_interval
from anynet_study.analyses.noise import MOST_RESAMPLES, known_noise
from anynet_study.errors import counted
from anynet_study.store import mixed_backends
from anynet_study.study import Study

#: The worst first: no order can be read from networks that guess, and none from noise.
Kind = Literal["guessing", "noise", "missing", "failed", "backends", "few"]
#: Fewer architectures than this give intervals too wide for more than a first impression, and
#: fewer than that give hardly any answer.
FEW, TOO_FEW = 50, 10
#: The share of a dataset's architectures that guess, or of the runs that lack, which is serious.
SERIOUS = 0.25
#: Less than this share of the differences between runs is the architectures': mostly noise.
MOSTLY_NOISE = 0.5
#: A network is no better than guessing if its error is not shown to be below it at this one-sided
#: level, by the normal approximation of a proportion of the test images: 1.645 standard errors.
ONE_SIDED_95 = 1.6449
#: Columns of `Evidence.runs`.
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
    """What is known of the runs of a study, or of a table of errors."""

    #: RUNS of the recipe that counts: those that are recorded, and asked for.
    runs: pd.DataFrame
    #: dataset, and chance, test_images and metric where they are known.
    datasets: pd.DataFrame
    #: All runs that are asked for, by dataset; none where that is not known.
    planned: Mapping[str, int] = field(default_factory=dict)
    #: As `apr.noise_ceiling` returns it; None: not computed yet.
    noise: pd.DataFrame | None = None
    #: How many architectures of equal weight the sample is worth; None: as many as it has.
    effective: float | None = None
    #: What `store.mixed_backends` says.
    backends: str = ""
    #: Whether the study trains its networks, so that they can be trained otherwise.
    trains: bool = True


def concerns_of(study: Study) -> list[Concern]:
    """What makes the answer of a study worth little, the worst first."""
    return concerns(evidence_of(study))


def concerns(evidence: Evidence) -> list[Concern]:
    """The same of its runs; the serious ones first, and of these the worst kind."""
    found = [
        *_guessing(evidence),
        *_noise(evidence),
        *_missing(evidence),
        *_failed(evidence),
        *_backends(evidence),
        *_few(evidence),
    ]
    kinds = get_args(Kind)
    return sorted(found, key=lambda it: (not it.serious, kinds.index(it.kind)))


def evidence_of(study: Study) -> Evidence:
    """What a loaded study knows of its runs."""
    if study.store is None:
        known = study.known("datasets")
        datasets = pd.DataFrame({"dataset": study.errors.columns}) if known is None else known
        long = study.errors.rename_axis("architecture").melt(
            ignore_index=False, var_name="dataset", value_name="error"
        )
        runs = long.dropna().reset_index().assign(replicate=0, status="completed")
        return Evidence(runs, datasets, effective=study.effective, trains=False)
    columns = [*RUNS, "recipe", "planned", "backend", "instruction_set", "threads"]
    table = study.store.table("runs", columns)
    runs = table.to_pandas()
    recipe = study.options.recipe or next(iter(study.store.recipes), "")
    mine = runs["planned"] & runs["recipe"].eq(recipe)
    planned = study.store.planned_runs
    trains = bool(study.store.provenance.get("sweep"))
    lacking = 0 if planned is None else planned - int(runs["planned"].sum())
    return Evidence(
        runs.loc[mine, RUNS],
        study.store.datasets(),
        {"": lacking + int(mine.sum())} if trains else {},
        known_noise(study),
        study.effective,
        mixed_backends(table.filter(table["planned"])),
        trains,
    )


def _guessing(evidence: Evidence) -> list[Concern]:
    """Networks whose error is not shown to be below that of one guess for all images."""
    if "chance" not in evidence.datasets:
        return []
    runs = evidence.runs[evidence.runs["error"].notna()]
    said, names, worst = [], [], 0.0
    for row in evidence.datasets.to_dict("records"):
        on_it = runs[runs["dataset"].eq(row["dataset"])]
        errors = on_it.groupby("architecture", observed=True)["error"].mean()
        count = int((errors >= row["chance"] - _margin(row)).sum())
        if count:
            names.append(str(row["dataset"]))
            of = f"{count:,} of {len(errors):,} architectures on {names[-1]}"
            said.append(f"{of} (guessing errs {row['chance']:.1f}%)")
            worst = max(worst, count / len(errors))
    if not said:
        return []
    diverged = int((runs["status"].eq("diverged") & runs["dataset"].isin(names)).sum())
    return [
        Concern(
            "guessing",
            f"Not shown to do better than guessing: {listed(said)}. Their "
            "order there says nothing about them.",
            _train_better(names, diverged) if evidence.trains else "",
            worst >= SERIOUS,
        )
    ]


def _margin(dataset: Mapping[str, object]) -> float:
    """How far below chance an error has to be, in points, to be shown to be below it."""
    images, chance = dataset.get("test_images"), float(str(dataset["chance"]))
    if dataset.get("metric") not in ("top1", "top5") or not images or pd.isna(images):
        return 0.0
    share = chance / 100
    return float(100 * ONE_SIDED_95 * np.sqrt(share * (1 - share) / float(str(images))))


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
    table = evidence.noise
    if table is None:
        if not evidence.runs.duplicated(["architecture", "dataset"]).any():
            return []
        long = evidence.runs[["architecture", "dataset", "replicate", "error"]]
        table = apr.noise_ceiling(long, resamples=MOST_RESAMPLES)
    known = table[table["icc"].notna()]
    unclear = known[known["icc_low"].le(0) | known["icc_low"].isna()]
    mostly = known[known["icc"].lt(MOSTLY_NOISE) & ~known["dataset"].isin(unclear["dataset"])]
    advice = ""
    if evidence.trains:
        advice = (
            "Train longer there, take a wider band or space of architectures, or train each more "
            "often (replicates)."
        )
    found = []
    for rows, said in (
        (
            unclear,
            "Training noise: it is not shown that architectures differ at all on {names}, where "
            "two trainings of one may differ as much. A low correlation there may be noise.",
        ),
        (mostly, "Training noise is most of the differences between single runs on {names}."),
    ):
        if len(rows):
            icc = [
                f"{row['dataset']} (ICC {with_interval(row, 'icc')})" for _, row in rows.iterrows()
            ]
            text = said.format(names=listed(some_of(icc, 6)))
            found.append(Concern("noise", text, advice, rows is unclear))
    return found


def _missing(evidence: Evidence) -> list[Concern]:
    """Runs that are asked for and not recorded."""
    asked, there = sum(evidence.planned.values()), len(evidence.runs)
    if asked <= there:
        return []
    by_dataset = evidence.runs["dataset"].value_counts()
    lacking = {
        name: count - int(by_dataset.get(name, 0))
        for name, count in evidence.planned.items()
        if name and count > by_dataset.get(name, 0)
    }
    where = listed(some_of([f"{count:,} on {name}" for name, count in lacking.items()], 6))
    said = f"{asked - there:,} of {counted(asked, 'planned run')} are not recorded yet"
    text = f"{said} ({where})." if where else f"{said}."
    advice = "Run or launch the sweep again; what is recorded is kept."
    return [Concern("missing", text, advice, (asked - there) / asked >= SERIOUS)]


def _failed(evidence: Evidence) -> list[Concern]:
    failed = evidence.runs[evidence.runs["status"].eq("failed")]["dataset"]
    if failed.empty:
        return []
    counts = failed.value_counts()
    where = listed(some_of([f"{count:,} on {name}" for name, count in counts.items() if count], 6))
    text = f"{len(failed):,} of {counted(len(evidence.runs), 'run')} failed ({where})."
    advice = "See why in the report, then: anynet-study retry." if evidence.trains else ""
    return [Concern("failed", text, advice, len(failed) / len(evidence.runs) >= SERIOUS)]


def _backends(evidence: Evidence) -> list[Concern]:
    text = evidence.backends
    return [Concern("backends", f"{text[0].upper()}{text[1:]}.")] if text else []


def _few(evidence: Evidence) -> list[Concern]:
    known = evidence.runs.loc[evidence.runs["error"].notna(), "architecture"]
    count, effective = known.nunique(), evidence.effective
    worth = min(count, effective or count)
    if worth >= FEW:
        return []
    weighted = f", of unequal weights and as good as {effective:.0f}," if effective else ""
    text = (
        f"With {counted(count, 'architecture')}{weighted} the intervals are wide: read this as a "
        "first impression."
    )
    advice = "Raise population.count: finished runs are kept." if evidence.trains else ""
    return [Concern("few", text, advice, worth < TOO_FEW)]
