"""The output of a dry run: the number of runs and jobs, and what they would cost."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from anynet_study.cli.power import what_it_can_answer
from anynet_study.cli.tables import print_table
from anynet_study.core.errors import counted
from anynet_study.core.progress import duration
from anynet_study.data import made_aside
from anynet_study.design_space import Population
from anynet_study.engine.dispatch import (
    Begun,
    SlurmForecast,
    asked_site,
    begun_study,
    damage_in_words,
    forecast,
    left_of,
    local_workers,
)
from anynet_study.engine.planning import CostModel, SettingCost, datasets_of, sweep_cost
from anynet_study.engine.study_folder import StudyFolder, sample
from anynet_study.engine.sweep import Sweep

#: More of the time than this should not be spent on starting up.
START_UP_GOAL = 0.02


def print_dry_run(
    sweep_file: Path, overrides: list[str], as_json: bool, trusted: bool = False
) -> None:
    """Print what a sweep would cost, by its file and changes to it; no data needs to be there.

    A function that it names as a network is called, which tells its cost, if it is `trusted`.
    """
    sweep = Sweep.load(sweep_file, overrides)
    population = sample(sweep.population, trusted)
    compares = any(sweep.role_of(label) == "target" for label in sweep.datasets)
    said = what_it_can_answer(sweep, len(population)) if compares and not as_json else ""
    print_cost(sweep, population, as_json, f"note: {said}\n" if said else "")


def print_cost(sweep: Sweep, population: Population, as_json: bool = False, note: str = "") -> None:
    """Print runs, predicted device time and memory by dataset; and jobs, or workers, for them.

    A `note`, whole lines, stands below, before the script of jobs.
    """
    site = asked_site(sweep.launch)
    with made_aside(name for names in datasets_of(sweep) for name in names) as kept:
        begun = begun_study(sweep, population, kept, site)
        cost = begun.cost
        priced = sweep_cost(sweep, population, cost, kept)
    items, runs = priced.items, len(priced.plan)
    seconds = sum(item.seconds for item in items)
    left = left_of(priced.plan, begun.done)
    seconds_left = sum(run.seconds for run in left)
    slurm = None
    if sweep.launch.cluster == "slurm" and left:
        slurm = forecast(StudyFolder.of(sweep), sweep, left, site)
    if as_json:
        told: dict[str, Any] = {
            "runs": runs,
            "seconds": seconds,
            "device": cost.name,
            "predicted_by": cost.basis,
        }
        told |= {"runs_left": len(left), "seconds_left": seconds_left, "refusal": begun.refusal}
        told |= {"damage": dict(begun.damage)}
        changes = begun.changes and asdict(begun.changes)
        parts = {"items": [asdict(item) for item in items], "slurm": slurm and asdict(slurm)}
        print(json.dumps({**told, "changes": changes, **parts}, indent=2))
        return
    _print_table(sweep, items, cost)
    print(f"{runs:,} runs, {duration(seconds)} of one {cost.name}")
    print(*tuning_lines(sweep), sep="", end="")
    if count := sum(item.evaluations for item in items):
        spent = duration(sum(item.evaluation_seconds for item in items))
        print(f"of which {counted(count, 'further evaluation')}: {spent}")
    if len(left) < runs:
        print(f"done: {runs - len(left):,}; left: {len(left):,}, {duration(seconds_left)}")
    if slurm:
        print(*slurm_lines(slurm, sweep), sep="\n")
        if site.silence:
            print(f"Slurm does not answer; its usual limits are assumed ({site.silence})")
    elif left:
        workers = local_workers(sweep)
        print(f"about {duration(seconds_left / workers)} with {workers} workers on this machine")
    print(f"predicted by: {cost.basis}")
    print(*_begun_lines(begun), sep="", end="")
    if not all(item.size.known for item in items):
        print("* not added yet: image counts by the catalog (anynet-study data list)")
    print(note, end="")
    if slurm:
        print(f"\nthe script of the first array:\n\n{slurm.sbatch}", end="")


def _begun_lines(begun: Begun) -> list[str]:
    """Return what the study's folder would say against the sweep."""
    lines = [f"{line}\n" for line in damage_in_words(begun.damage)]
    if begun.refusal:
        lines.append(f"this would be refused: {begun.refusal}\n")
    if begun.changes:
        lines.append(
            f"changed since the last launch: {begun.changes}; a launch asks for --changed, or for "
            "another name=...\n"
        )
    return lines


def tuning_lines(sweep: Sweep) -> list[str]:
    """The trials of each tuned recipe."""
    tuned = [(name, it.tuning) for name, it in sweep.recipes.items() if it.tuning is not None]
    return [
        f"{name}: {' + '.join(map(str, it.counts))} runs of each architecture on each dataset "
        f"({it.scheduler}), compared on validation images\n"
        for name, it in tuned
    ]


def slurm_lines(told: SlurmForecast, sweep: Sweep) -> list[str]:
    """Jobs, what they take, and when they are done, with the assumption; and what to change."""
    why = " (launch.slurm.array_parallelism)" if told.at_once < told.jobs else ""
    lines = [
        f"{counted(told.jobs, 'Slurm job')} in {counted(told.arrays, 'array')}, of "
        f"{duration(told.mean_job)} on average, {duration(told.longest_job)} at most",
        f"{told.hours:,.{0 if told.hours >= 10 else 2}f} {told.unit}, of which starting up takes "
        f"{100 * told.start_up:.1f}%",
        f"done in {duration(told.done_in)} with {counted(told.at_once, 'job')} at once{why}",
    ]
    if told.start_up > START_UP_GOAL and told.jobs > 1:
        lines.append(
            f"warning: starting up should take less than {100 * START_UP_GOAL:g}%: make jobs "
            f"longer than {sweep.launch.job_minutes:g} minutes (launch.job_minutes)"
        )
    if told.longest_job > 60 * told.limit:
        lines.append(
            f"warning: the longest job hits the time limit of {told.limit:,} minutes and is queued "
            "again (launch.slurm.timeout_min)"
        )
    return lines


def _print_table(sweep: Sweep, items: list[SettingCost], cost: CostModel) -> None:
    recipe = ["recipe"] if len(sweep.recipes) > 1 else []
    rows = [
        [
            item.dataset + ("" if item.size.known else " *"),
            *([item.recipe] if recipe else []),
            f"{item.size.classes:,}",
            f"{item.size.train_images:,}",
            str(item.epochs),
            f"{item.runs:,}",
            f"{hours:,.2f}" if (hours := item.seconds / 3600) >= 0.1 else f"{hours:.1g}",
            f"{item.memory_bytes / 2**30:,.1f}",
        ]
        for item in items
    ]
    title = f"dry run of {sweep.name}: hours of one {cost.name}, and its peak memory"
    headings = ["dataset", *recipe, "classes", "images", "epochs", "runs", "hours", "GiB"]
    print_table(headings, rows, title=title, left=1 + len(recipe))
