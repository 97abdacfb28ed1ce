"""The dry run: how many runs and jobs, and what they cost."""

import math
from pathlib import Path

from rich.console import Console
from rich.table import Table

from anynet_study.design_space import Population
from anynet_study.dispatch.cost import CostModel, expected_cost
from anynet_study.dispatch.measured import learned_cost, measured_runs
from anynet_study.dispatch.plan import load_views, plan
from anynet_study.dispatch.price import Item, price
from anynet_study.errors import UserError
from anynet_study.progress import duration
from anynet_study.study import Study
from anynet_study.study import sample as draw
from anynet_study.sweep import Sweep


def print_dry_run(sweep_file: Path, overrides: list[str], as_json: bool) -> None:
    """Print what a sweep would cost, by its file and changes to it."""
    sweep = Sweep.load(sweep_file, overrides)
    print_price(sweep, draw(sweep.population))


def print_price(sweep: Sweep, population: Population) -> None:
    """Print runs, predicted device time and memory by dataset, and the number of jobs."""
    cost = _cost(sweep, population)
    items = price(sweep, population, cost)
    console = Console()
    console.print(_table(sweep, items, cost))
    runs, seconds = sum(item.runs for item in items), sum(item.seconds for item in items)
    lines = [f"{runs:,} runs, {duration(seconds)} of one {cost.name}"]
    lines.append(_where(sweep, runs, seconds))
    lines.append(f"predicted by: {cost.told}")
    if not all(item.size.known for item in items):
        lines.append("* not added yet: image counts by the catalog (anynet-study data list)")
    console.print("\n".join(lines), highlight=False, soft_wrap=True)


def _cost(sweep: Sweep, population: Population) -> CostModel:
    """Prices fitted to the runs that this study has finished, if it has; else built-in ones."""
    expected = expected_cost(sweep.launch.cluster, sweep.launch.slurm)
    measured = measured_runs(Study.of(sweep).journals)
    if not measured:
        return expected
    try:
        views = load_views(sweep)
    except UserError:  # some data is not there (any more)
        return expected
    return learned_cost(plan(sweep, population, views), views, measured, expected)


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


def _where(sweep: Sweep, runs: int, seconds: float) -> str:
    if sweep.launch.cluster == "slurm":
        jobs = min(runs, math.ceil(seconds / (60 * sweep.launch.job_minutes)))
        return f"about {jobs:,} Slurm jobs of {sweep.launch.job_minutes:g} minutes"
    from anynet_study.dispatch.submit import local_workers

    workers = local_workers(sweep)
    return f"about {duration(seconds / workers)} with {workers} workers on this machine"
