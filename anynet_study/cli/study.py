"""The commands that make a study: run, and collect."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.analysis.analyses.arguments import Resamples
from anynet_study.cli.options import (
    Changed,
    DryRun,
    Overrides,
    Retrain,
    StudyName,
    SweepFile,
    Trust,
    opt,
)
from anynet_study.core.errors import UserError, WorkFailedError

if TYPE_CHECKING:
    from anynet_study.engine.dispatch import OpenStudy

RetryFailed = Annotated[bool, opt("Train failed runs once more.", "--retry-failed")]
DryRunAsJson = Annotated[bool, opt("With --dry-run: print JSON for scripts.", "--json")]


def run(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    dry_run: DryRun = False,
    trust: Trust = False,
    retry_failed: RetryFailed = False,
    retrain: Retrain = False,
    changed: Changed = False,
    resamples: Resamples = 10_000,
    as_json: DryRunAsJson = False,
) -> None:
    """Run a whole study on this machine, from a sweep to its report.

    Samples the population, trains what is missing, collects and reports. Can be stopped and run
    again at any point; finished runs are never trained again.

    \b
    Examples:
      anynet-study run sweeps/quickstart.yaml
      anynet-study run sweeps/quickstart.yaml name=more population.count=24
    """
    if dry_run:
        from anynet_study.cli.dry_run import print_dry_run

        print_dry_run(sweep_file, overrides or [], as_json, trust)
        return
    from anynet_study.cli.whole_study import run_study
    from anynet_study.engine.dispatch import Allowed, Recorded, open_sweep

    study = open_sweep(sweep_file, overrides or [])
    allowed = Allowed(retrain, changed)
    done = run_study(study, resamples, retry_failed, allowed, lambda it: typer.echo(it, err=True))
    if done is not None:
        from anynet_study.cli.analysis_output import print_summary

        print_summary(done)
        print(f"report: {study.folder.report}")
    else:
        runs, report = len(study.plan), study.folder.report
        print(f"nothing to do: all {runs} runs are recorded; report: {report}")
    study = study.planned_by(Recorded.read(study.folder.journals))
    if kinds := _failed(study):
        raise WorkFailedError(
            f"{kinds.total()} of {len(study.plan)} runs failed ({by_kind(kinds)}; the report says "
            "why); train them again with --retry-failed"
        )


def collect(
    study_name: StudyName,
    more: Annotated[
        list[Path] | None, typer.Argument(help="Further folders of --from.", metavar="[FOLDER]...")
    ] = None,
    from_: Annotated[
        list[Path] | None, opt("Add the journals in a folder first, as of a part.", "--from")
    ] = None,
    anew: Annotated[bool, opt("Replace a store that cannot be read.", "--anew")] = False,
    restore: Annotated[
        bool, opt("First write journals again of what only the store has.", "--restore")
    ] = False,
) -> None:
    """Build the results store of a study from its journals.

    All journals are read every time. --from adds journals that came back from other machines (see
    launch --parts), and refuses those of another plan. Where the store has runs or evaluations that
    are in no journal any more, --restore writes these journals again from it. --anew replaces the
    store even so (it is kept beside the new one), and also one that cannot be read.

    \b
    Examples:
      anynet-study collect quickstart
      anynet-study collect quickstart --restore
      anynet-study collect paper --from one/journals two/journals
    """
    from anynet_study.engine.dispatch import join_journals, open_study
    from anynet_study.engine.stages import collect_study, collect_warnings, restore_study

    study = open_study(study_name)
    if more and not from_:
        raise UserError(f"{more[0]}: a folder of journals is named after --from")
    if from_:
        join_journals(study, [*from_, *(more or [])])
    if restore:
        written = restore_study(study) or "nothing: its journals have all of them"
        typer.echo(f"{study.folder.journals}: restored {written}", err=True)
        study = open_study(study_name)
    made = collect_study(study, anew)
    for line in collect_warnings(made):
        typer.echo(line, err=True)
    failed = f"{made.failed} failed"
    if made.failed:
        failed += f" ({by_kind(_failed(study))}; why: anynet-study status {study_name})"
    asked = made.runs - made.unplanned
    print(f"{study.folder.results}: {asked} of {len(study.plan)} planned runs, {failed}")


def _failed(study: "OpenStudy") -> Counter[str]:
    """Return how many of the planned runs failed, by kind."""
    from anynet_study.engine.dispatch import Recorded

    return Recorded.read(study.folder.journals).failed_kinds(study.plan)


def by_kind(kinds: Mapping[str, int]) -> str:
    """Return how many failed of each kind, the most first."""
    return ", ".join(f"{kind} {count}" for kind, count in Counter(kinds).most_common())
