"""The commands that make a study: run, collect."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analyses.arguments import Resamples
from anynet_study.cli.alone import alone
from anynet_study.errors import UserError, WorkFailedError

if TYPE_CHECKING:
    from anynet_study.cli.prepared import Prepared
    from anynet_study.store import CollectReport
    from anynet_study.study_folder import StudyFolder

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
DryRunAsJson = Annotated[
    bool, typer.Option("--json", help="With --dry-run: print JSON for scripts.")
]
StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="Study folder, or its bare name under studies/.")
]


def run(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    resamples: Resamples = 10_000,
    as_json: DryRunAsJson = False,
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
    from anynet_study.dispatch.recorded import Recorded
    from anynet_study.stages import fingerprint, mark_report, report_is_current

    if dry_run:
        from anynet_study.cli.price import print_dry_run

        print_dry_run(sweep_file, overrides or [], as_json)
        return
    prepared = prepare(sweep_file, overrides or [])
    study, sweep, planned = prepared.study, prepared.sweep, prepared.planned
    with alone(study):
        study.begin(sweep, prepared.population)
        mark = fingerprint(study, sweep, planned, resamples)
        if report_is_current(study, mark) and not retry_failed:
            print(f"nothing to do: all {len(planned)} runs are recorded; report: {study.report}")
            _fail_if_runs_failed(prepared)
            return
        left = prepared.learned(Recorded.read(study.journals)).planned
        train_all(study, sweep, left, retry_failed)
        _collect(prepared)
        _report(study, resamples)
        mark_report(study, fingerprint(study, sweep, planned, resamples))
    _print_summary(study, resamples)
    _fail_if_runs_failed(prepared)


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
        f"{made.failed} failed" + (f" ({by_kind(_failed(prepared))})" if made.failed else "")
    )


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


def _report(study: "StudyFolder", resamples: int) -> None:
    from anynet_study.analyses import load
    from anynet_study.report import write_report

    typer.echo("writing the report", err=True)
    write_report(load(study.results, resamples=resamples), study.report.parent)


def _print_summary(study: "StudyFolder", resamples: int) -> None:
    from anynet_study.analyses import load
    from anynet_study.cli.analysis_output import print_summary

    try:
        print_summary(load(study.results, resamples=resamples))
    except UserError as error:  # the runs are there, only too few or too odd to be compared
        print(f"no correlations: {error}")
    print(f"report: {study.report}")


def _fail_if_runs_failed(prepared: "Prepared") -> None:
    kinds = _failed(prepared)
    if kinds:
        raise WorkFailedError(
            f"{kinds.total()} of {len(prepared.planned)} runs failed ({by_kind(kinds)}; the report "
            "says why); train them again with --retry-failed"
        )


def _failed(prepared: "Prepared") -> Counter[str]:
    """The planned runs that failed, by kind."""
    from anynet_study.dispatch.recorded import Recorded

    return Recorded.read(prepared.study.journals).failed_kinds(prepared.planned)


def by_kind(kinds: Mapping[str, int]) -> str:
    """How many failed of each kind, the most first."""
    return ", ".join(f"{kind} {count}" for kind, count in Counter(kinds).most_common())
