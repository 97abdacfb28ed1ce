"""The command that submits what is missing of a study."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.alone import alone
from anynet_study.cli.study import AsJson, DryRun, Overrides, SweepFile
from anynet_study.errors import UserError, counted

if TYPE_CHECKING:
    from anynet_study.cli.prepared import Prepared


def launch(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    cluster: Annotated[str, typer.Option(help="local or slurm; default: as the sweep says.")] = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Submit the runs that are missing, and return at once.

    Runs that are queued or under way are not submitted again: repeat it whenever you like, also
    after it was killed. Runs that failed for want of memory or time, or with their node, are tried
    again up to launch.attempts times; for others see anynet-study retry. --dry-run shows what
    sbatch would get, needs neither Slurm nor data, and takes --json.

    \b
    Examples:
      anynet-study launch sweeps/paper.yaml --cluster slurm \\
        launch.slurm.partition=gpu launch.slurm.gpus_per_node=1
      anynet-study launch sweeps/paper.yaml --dry-run launch.slurm.array_parallelism=50
    """
    from anynet_study.cli.prepared import prepare
    from anynet_study.dispatch.endings.retries import PASSING_KINDS

    changes = [*(overrides or []), *([f"launch.cluster={cluster}"] if cluster else [])]
    if dry_run:
        from anynet_study.cli.price import print_dry_run

        print_dry_run(sweep_file, changes, as_json)
        return
    prepared = prepare(sweep_file, changes)
    check_cluster(prepared)
    with alone(prepared.study):
        told = submit_missing(prepared, PASSING_KINDS)
    print_launched(prepared, told, as_json)


@dataclass(frozen=True)
class Launched:
    """What became of a study's runs, and of how many jobs."""

    runs: int
    recorded: int
    under_way: int
    submitted: int
    jobs: int
    #: Failed runs that are tried again, of those submitted; and those that stay as they are.
    retried: int
    failed: int
    #: Runs and jobs that Slurm has no room for now, and why.
    runs_left: int = 0
    jobs_left: int = 0
    reason: str = ""


def check_cluster(prepared: "Prepared") -> None:
    """Refuse what cannot be submitted, before anything is written."""
    from anynet_study.dispatch.slurm.submission import check_slurm

    if prepared.sweep.launch.cluster == "slurm":
        check_slurm(prepared.study, prepared.sweep)


def submit_missing(
    prepared: "Prepared",
    kinds: Collection[str],
    limited: bool = True,
    only_failed: bool = False,
) -> Launched:
    """Submit what is not recorded, or failed and is tried again, and not under way; while alone.

    Tried again are failures of some `kinds`, if `limited` up to `launch.attempts` times.
    """
    from anynet_study.dispatch.endings.attempts import next_attempts
    from anynet_study.dispatch.jobs.ledger import adopt, live_jobs
    from anynet_study.dispatch.jobs.under_way import tried_again, under_way
    from anynet_study.dispatch.journal_reader import JournalReader
    from anynet_study.dispatch.slurm.submission import submit_to_slurm
    from anynet_study.dispatch.submit import submit_locally

    study, sweep = prepared.study, prepared.sweep
    reader = JournalReader(study.journals)
    ended = reader.read().ended(prepared.planned)
    adopt(study.jobs)
    alive = live_jobs(study.jobs, ended)
    tries = next_attempts(study, sweep, prepared.planned, reader, alive, kinds, limited)
    recorded, again = tries.recorded, tries.again
    todo = recorded.todo(prepared.learned(recorded).planned, again)
    if only_failed:
        todo = todo.where(lambda run_id, _: recorded.runs.get(run_id) == "failed")
    new = todo.without(under_way(todo, recorded, alive))
    is_local = sweep.launch.cluster == "local"
    if is_local and alive and len(new):
        raise UserError(
            f"{len(alive)} jobs are still at study {sweep.name}; wait for them to end "
            f"(anynet-study status {sweep.name})"
        )
    study.begin(sweep, prepared.population)
    if not alive:
        study.remove_litter(ended)
    told = len(prepared.planned), len(prepared.planned) - len(todo), len(todo) - len(new)
    failed = prepared.planned.find(recorded.failed())
    retried = len(new) - len(new.without(failed))
    kept = len(failed.without(todo).without(failed.find(tried_again(recorded, alive))))
    if is_local:
        workers = submit_locally(study, sweep, list(new), attached=False, retries=again)
        return Launched(*told, len(new), len(workers), retried, kept)
    queued = submit_to_slurm(study, sweep, new, again, tries.avoid)
    left_over = queued.runs_left, queued.jobs_left, queued.reason
    return Launched(*told, queued.runs, queued.jobs, retried, kept, *left_over)


def print_launched(prepared: "Prepared", told: Launched, as_json: bool) -> None:
    """Print what was submitted, and what is for a later launch."""
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(told), indent=2))
        return
    print(
        f"{told.runs} runs: {told.recorded} recorded, {told.under_way} under way, "
        f"{told.submitted} submitted in {counted(told.jobs, 'job')}; "
        f"see: anynet-study status {prepared.study.folder}"
    )
    if told.retried:
        print(f"failed before and tried again: {told.retried}")
    if told.failed:
        print(
            f"failed and not tried again: {told.failed}; for another try: anynet-study retry "
            f"{prepared.study.folder}"
        )
    if told.jobs_left:
        print(
            f"{told.jobs_left} jobs ({told.runs_left} runs) are left, for Slurm takes no more now "
            f"({told.reason}): launch again later, or make jobs longer (launch.job_minutes)"
        )
