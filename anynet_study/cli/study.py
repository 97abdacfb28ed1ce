"""The commands that make a study: run, launch, status, collect."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.inputs import Resamples
from anynet_study.errors import UserError, WorkFailedError

if TYPE_CHECKING:
    from anynet_study.cli.prepared import Prepared
    from anynet_study.store import CollectReport
    from anynet_study.study import Study

SweepFile = Annotated[
    Path, typer.Argument(metavar="SWEEP", help="Sweep file, for example sweeps/quickstart.yaml.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Changes to the sweep file: key.path=value ...", metavar="KEY=VALUE"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, and cost.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Train failed runs once more.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="Study folder, or its bare name under studies/.")
]


def run(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    resamples: Resamples = 10_000,
) -> None:
    """Do a whole study on this machine, from a sweep to its report.

    Samples the population, trains what is missing, collects and reports. Can be stopped and run
    again at any point; finished runs are never trained again.

    \b
    Examples:
      anynet-study run sweeps/quickstart.yaml
      anynet-study run sweeps/quickstart.yaml name=more population.count=24
    """
    from anynet_study.cli.prepared import prepare
    from anynet_study.dispatch.local import train_all
    from anynet_study.stages import fingerprint, mark_report, report_is_current

    if dry_run:
        _print_price(sweep_file, overrides or [])
        return
    prepared = prepare(sweep_file, overrides or [])
    study, sweep, planned = prepared.study, prepared.sweep, prepared.planned
    with _alone(study):
        study.begin(sweep, prepared.population)
        mark = fingerprint(study, sweep, planned, resamples)
        if report_is_current(study, mark) and not retry_failed:
            print(f"nothing to do: all {len(planned)} runs are recorded; report: {study.report}")
            _fail_if_runs_failed(prepared)
            return
        train_all(study, sweep, planned, retry_failed)
        _collect(prepared)
        _report(study, resamples)
        mark_report(study, fingerprint(study, sweep, planned, resamples))
    _print_summary(study, resamples)
    _fail_if_runs_failed(prepared)


def launch(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    cluster: Annotated[str, typer.Option(help="local or slurm; default: as the sweep says.")] = "",
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
) -> None:
    """Submit the runs that are missing, and return at once.

    Runs that are queued or under way are not submitted again.

    \b
    Example:
      anynet-study launch sweeps/paper.yaml --cluster slurm \\
        launch.slurm.partition=gpu launch.slurm.gpus_per_node=1
    """
    from anynet_study.cli.prepared import prepare
    from anynet_study.dispatch.ledger import live_jobs
    from anynet_study.dispatch.recorded import Recorded
    from anynet_study.dispatch.retries import EVERY_KIND, retries
    from anynet_study.dispatch.submit import slurm_executor, submit_locally, submit_to_slurm

    changes = [*(overrides or []), *([f"launch.cluster={cluster}"] if cluster else [])]
    if dry_run:
        _print_price(sweep_file, changes)
        return
    prepared = prepare(sweep_file, changes)
    study, sweep = prepared.study, prepared.sweep
    if sweep.launch.cluster == "slurm":
        slurm_executor(study, sweep)  # refuses options before anything is written
    attempts = sweep.launch.attempts
    with _alone(study):
        recorded = Recorded.read(study.journals)
        again = retries(recorded, *((None, EVERY_KIND) if retry_failed else (attempts,)))
        todo = recorded.todo(prepared.learned().planned, again)
        # A worker that has brought all of its runs to an end is only about to exit; one whose runs
        # failed may be a retry that is at work.
        left = set(recorded.todo(prepared.planned).ids())
        ended = [
            run for run, status in recorded.runs.items() if status != "failed" and run not in left
        ]
        alive = live_jobs(study.jobs_file, ended)
        under_way = {run for live in alive for run in live.job.runs}
        new = [run for run in todo if run.run_id not in under_way]
        if sweep.launch.cluster == "local" and alive and new:
            raise UserError(
                f"{len(alive)} jobs are still at study {sweep.name}; wait for them to end "
                f"(anynet-study status {sweep.name})"
            )
        study.begin(sweep, prepared.population)
        if sweep.launch.cluster == "slurm":
            jobs = submit_to_slurm(study, sweep, new, again)
        else:
            jobs = submit_locally(study, sweep, new, attached=False, retries=again)
    print(
        f"{len(prepared.planned)} runs: {len(prepared.planned) - len(todo)} recorded, "
        f"{len(todo) - len(new)} under way, {len(new)} submitted in {len(jobs)} jobs; "
        f"see: anynet-study status {study.folder}"
    )


def status(study_name: StudyName, as_json: AsJson = False) -> None:
    """Say how far a study is.

    \b
    Example:
      anynet-study status quickstart --json
    """
    from dataclasses import asdict

    from anynet_study.cli.prepared import reopen
    from anynet_study.cli.status import print_status
    from anynet_study.dispatch.ledger import live_jobs
    from anynet_study.dispatch.recorded import Recorded
    from anynet_study.dispatch.status import study_status

    prepared = reopen(study_name)
    study = prepared.study
    recorded = Recorded.read(study.journals)
    finished, evaluated = recorded.runs, recorded.evaluations
    planned, cost, measured = prepared.learned()
    jobs = [live.job for live in live_jobs(study.jobs_file, finished)]
    now = study_status(planned, finished, jobs, cost=cost, measured=measured, evaluated=evaluated)
    if as_json:
        print(json.dumps(asdict(now), indent=2))
    else:
        print_status(prepared.sweep.name, now)


def collect(
    study_name: StudyName,
    anew: Annotated[bool, typer.Option("--anew", help="Trust nothing but the journals.")] = False,
) -> None:
    """Build the results store of a study from its journals.

    What an earlier collect read is taken from its store; with --anew all journals are read again.

    \b
    Example:
      anynet-study collect quickstart
    """
    from anynet_study.cli.prepared import reopen

    prepared = reopen(study_name)
    made = _collect(prepared, anew)
    asked = made.runs - made.unplanned
    print(
        f"{prepared.study.results}: {asked} of {len(prepared.planned)} planned runs, "
        f"{made.failed} failed"
    )


@contextmanager
def _alone(study: "Study") -> Iterator[None]:
    """Refuse to begin where another process is at the same study; a courtesy, not for safety."""
    from filelock import FileLock, Timeout

    study.folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(study.folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise UserError(
            f"{study.folder}: another process is running this study; wait for it or stop it"
        ) from None


def _collect(prepared: "Prepared", anew: bool = False) -> "CollectReport":
    from anynet_study.stages import collect_study

    made = collect_study(
        prepared.study, prepared.sweep, prepared.population, prepared.views, prepared.planned, anew
    )
    for problem in made.problems:
        typer.echo(f"warning: {problem}", err=True)
    if made.unplanned:
        typer.echo(
            f"note: {made.unplanned} recorded runs are not of this sweep as it is now (other data, "
            "recipe or seeds): kept, not analysed",
            err=True,
        )
    return made


def _report(study: "Study", resamples: int) -> None:
    from anynet_study.report import write_report
    from anynet_study.store import ResultStore

    typer.echo("writing the report", err=True)
    write_report(ResultStore(study.results), study.report.parent, resamples=resamples)


def _print_summary(study: "Study", resamples: int) -> None:
    from anynet_study.apr import Roles, weights_of
    from anynet_study.cli.analyze import print_summary
    from anynet_study.store import ResultStore

    store = ResultStore(study.results)
    try:
        roles, weights = Roles.from_datasets(store.datasets()), weights_of(store.architectures())
        print_summary(store.errors(), roles, resamples=resamples, weights=weights)
    except UserError as error:  # the runs are there, only too few or too odd to be compared
        print(f"no correlations: {error}")
    print(f"report: {study.report}")


def _fail_if_runs_failed(prepared: "Prepared") -> None:
    from anynet_study.store import finished_runs

    finished = finished_runs(prepared.study.journals)
    failed = sum(finished.get(run.run_id) == "failed" for run in prepared.planned)
    if failed:
        raise WorkFailedError(
            f"{failed} of {len(prepared.planned)} runs failed (the report says why); "
            "train them again with --retry-failed"
        )


def _print_price(sweep_file: Path, overrides: list[str]) -> None:
    from anynet_study.cli.price import print_price
    from anynet_study.study import sample as draw
    from anynet_study.sweep import Sweep

    sweep = Sweep.load(sweep_file, overrides)
    print_price(sweep, draw(sweep.population))
