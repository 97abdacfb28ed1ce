"""The dry run: how many runs and jobs, and what they cost."""

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from anynet_study.design_space import Population
from anynet_study.dispatch.cost.forecast import START_UP_GOAL, Forecast, forecast
from anynet_study.dispatch.cost.learned import learned_cost
from anynet_study.dispatch.cost.measured import measured_runs, measured_tests
from anynet_study.dispatch.cost.model import CostModel, expected_cost
from anynet_study.dispatch.cost.price import Item, price
from anynet_study.dispatch.plan import load_views, plan
from anynet_study.errors import UserError, counted
from anynet_study.progress import duration
from anynet_study.study_folder import StudyFolder
from anynet_study.study_folder import sample as draw
from anynet_study.sweep import Sweep


def print_dry_run(sweep_file: Path, overrides: list[str], as_json: bool) -> None:
    """Print what a sweep would cost, by its file and changes to it; no data needs to be there."""
    sweep = Sweep.load(sweep_file, overrides)
    print_price(sweep, draw(sweep.population), as_json)


def print_price(sweep: Sweep, population: Population, as_json: bool = False) -> None:
    """Print runs, predicted device time and memory by dataset; and jobs, or workers, for them."""
    cost = _cost(sweep, population)
    priced = price(sweep, population, cost)
    items, runs = priced.items, len(priced.planned)
    seconds = sum(item.seconds for item in items)
    slurm = None
    if sweep.launch.cluster == "slurm":
        slurm = forecast(StudyFolder.of(sweep), sweep, priced.planned, cost)
    if as_json:
        told = {"runs": runs, "seconds": seconds, "device": cost.name, "predicted_by": cost.told}
        parts = [asdict(item) for item in items]
        print(json.dumps({**told, "items": parts, "slurm": slurm and asdict(slurm)}, indent=2))
        return
    lines = [f"{runs:,} runs, {duration(seconds)} of one {cost.name}", *_evaluations(items)]
    lines += slurm_lines(slurm, sweep) if slurm else [_here(sweep, seconds)]
    lines.append(f"predicted by: {cost.told}")
    if not all(item.size.known for item in items):
        lines.append("* not added yet: image counts by the catalog (anynet-study data list)")
    console = Console()
    console.print(_table(sweep, items, cost))
    console.print("\n".join(lines), highlight=False, soft_wrap=True)
    if slurm:
        print(f"\nthe script of the first array:\n\n{slurm.sbatch}", end="")


def slurm_lines(told: Forecast, sweep: Sweep) -> list[str]:
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


def _cost(sweep: Sweep, population: Population) -> CostModel:
    """Prices fitted to the runs that this study has finished, if it has; else built-in ones."""
    expected = expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    measured = measured_runs(StudyFolder.of(sweep).journals)
    if not measured:
        return expected
    try:
        views = load_views(sweep)
    except UserError:  # some data is not there (any more)
        return expected
    tests = measured_tests(StudyFolder.of(sweep).journals)
    return learned_cost(plan(sweep, population, views), views, measured, expected, tests)


def _evaluations(items: list[Item]) -> list[str]:
    count = sum(item.evaluations for item in items)
    seconds = sum(item.evaluation_seconds for item in items)
    if not count:
        return []
    return [f"of which {counted(count, 'further evaluation')}: {duration(seconds)}"]


def _table(sweep: Sweep, items: list[Item], cost: CostModel) -> Table:
    title = f"dry run of {sweep.name}: hours of one {cost.name}, its memory at most"
    table = Table(title=title, title_justify="left")
    table.add_column("dataset", no_wrap=True)
    if len(sweep.recipes) > 1:
        table.add_column("recipe", no_wrap=True)
    for heading in ("classes", "images", "epochs", "runs", "hours", "GiB"):
        table.add_column(heading, justify="right")
    for item in items:
        table.add_row(
            item.dataset + ("" if item.size.known else " *"),
            *([item.recipe] if len(sweep.recipes) > 1 else []),
            f"{item.size.classes:,}",
            f"{item.size.train_images:,}",
            str(item.epochs),
            f"{item.runs:,}",
            f"{item.seconds / 3600:,.2f}",
            f"{item.memory_bytes / 2**30:,.1f}",
        )
    return table


def _here(sweep: Sweep, seconds: float) -> str:
    from anynet_study.dispatch.submit import local_workers

    workers = local_workers(sweep)
    return f"about {duration(seconds / workers)} with {workers} workers on this machine"
