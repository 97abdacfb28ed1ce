"""The command that submits what is missing of a study."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.alone import alone
from anynet_study.cli.study import AsJson, DryRun, Overrides, RetryFailed, SweepFile
from anynet_study.errors import UserError

if TYPE_CHECKING:
    from anynet_study.cli.prepared import Prepared
    from anynet_study.dispatch.recorded import Recorded, Retries


def launch(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    cluster: Annotated[str, typer.Option(help="local or slurm; default: as the sweep says.")] = "",
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Submit the runs that are missing, and return at once.

    Runs that are queued or under way are not submitted again: repeat it whenever you like, also
    after it was killed. --dry-run shows what sbatch would get, needs neither Slurm nor data, and
    takes --json.

    \b
    Examples:
      anynet-study launch sweeps/paper.yaml --cluster slurm \\
        launch.slurm.partition=gpu launch.slurm.gpus_per_node=1
      anynet-study launch sweeps/paper.yaml --dry-run launch.slurm.array_parallelism=50
    """
    from anynet_study.cli.prepared import prepare
    from anynet_study.dispatch.recorded import Recorded
    from anynet_study.dispatch.retries import EVERY_KIND, retries

    changes = [*(overrides or []), *([f"launch.cluster={cluster}"] if cluster else [])]
    if dry_run:
        from anynet_study.cli.price import print_dry_run

        print_dry_run(sweep_file, changes, as_json)
        return
    prepared = prepare(sweep_file, changes)
    check_cluster(prepared)
    attempts = prepared.sweep.launch.attempts
    with alone(prepared.study):
        recorded = Recorded.read(prepared.study.journals)
        again = retries(recorded, *((None, EVERY_KIND) if retry_failed else (attempts,)))
        told = submit_missing(prepared, recorded, again)
    print_launched(prepared, told, as_json)


@dataclass(frozen=True)
class Launched:
    """What became of a study's runs, and of how many jobs."""

    runs: int
    recorded: int
    under_way: int
    submitted: int
    jobs: int
    #: Runs and jobs that Slurm has no room for now, and why.
    runs_left: int = 0
    jobs_left: int = 0
    reason: str = ""


def check_cluster(prepared: "Prepared") -> None:
    """Refuse what cannot be submitted, before anything is written."""
    from anynet_study.dispatch.slurm import check_slurm

    if prepared.sweep.launch.cluster == "slurm":
        check_slurm(prepared.study, prepared.sweep)


def submit_missing(
    prepared: "Prepared", recorded: "Recorded", again: "Retries", avoid: Collection[str] = ()
) -> Launched:
    """Submit what is not recorded, or tried `again`, and not under way; only while alone.

    `avoid`: nodes that the jobs must not get.
    """
    from anynet_study.dispatch.ledger import adopt, live_jobs
    from anynet_study.dispatch.slurm import submit_to_slurm
    from anynet_study.dispatch.submit import submit_locally

    study, sweep = prepared.study, prepared.sweep
    todo = recorded.todo(prepared.learned().planned, again)
    # A worker that has brought all of its runs to an end is only about to exit; one whose runs
    # failed may be a retry that is at work.
    left = set(recorded.todo(prepared.planned).ids())
    ended = [run for run, status in recorded.runs.items() if status != "failed" and run not in left]
    alive = live_jobs(study.jobs, ended)
    under_way = {run for live in alive for run in live.job.runs}
    new = todo.where(lambda run_id, _: run_id not in under_way)
    is_local = sweep.launch.cluster == "local"
    if is_local and alive and len(new):
        raise UserError(
            f"{len(alive)} jobs are still at study {sweep.name}; wait for them to end "
            f"(anynet-study status {sweep.name})"
        )
    study.begin(sweep, prepared.population)
    adopt(study.jobs)
    if not alive:
        study.remove_litter(ended)
    told = len(prepared.planned), len(prepared.planned) - len(todo), len(todo) - len(new)
    if is_local:
        workers = submit_locally(study, sweep, list(new), attached=False, retries=again)
        return Launched(*told, len(new), len(workers))
    queued = submit_to_slurm(study, sweep, new, again, avoid)
    left_over = queued.runs_left, queued.jobs_left, queued.reason
    return Launched(*told, queued.runs, queued.jobs, *left_over)


def print_launched(prepared: "Prepared", told: Launched, as_json: bool) -> None:
    """Print what was submitted, and what is for a later launch."""
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(told), indent=2))
        return
    print(
        f"{told.runs} runs: {told.recorded} recorded, {told.under_way} under way, "
        f"{told.submitted} submitted in {told.jobs} jobs; "
        f"see: anynet-study status {prepared.study.folder}"
    )
    if told.jobs_left:
        print(
            f"{told.jobs_left} jobs ({told.runs_left} runs) are left, for Slurm takes no more now "
            f"({told.reason}): launch again later, or make jobs longer (launch.job_minutes)"
        )
