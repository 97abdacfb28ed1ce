"""The commands that submit runs of a study: launch what is missing, retry what failed."""

from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.options import (
    AsJson,
    Changed,
    DryRun,
    Overrides,
    Retrain,
    StudyName,
    SweepFile,
    Trust,
    opt,
)
from anynet_study.core.errors import UserError, counted

if TYPE_CHECKING:
    from pathlib import Path

    from anynet_study.engine.dispatch import LaunchOptions, LaunchReport, OpenStudy

Cluster = Annotated[str, opt("local, slurm, debug or none; default: as the sweep says.")]
Changes = Annotated[
    list[str] | None,
    typer.Argument(
        help="Change launch.* of the sweep, such as launch.slurm.mem_gb=64.", metavar="KEY=VALUE"
    ),
]
Only = Annotated[str, opt("Failures of these kinds alone: oom,data,timeout,node,code.", "--only")]


def launch(
    sweep_file: SweepFile,
    overrides: Overrides = None,
    cluster: Cluster = "",
    parts: Annotated[int, opt("Divide the runs among folders that travel.", "--parts")] = 0,
    dry_run: DryRun = False,
    trust: Trust = False,
    retrain: Retrain = False,
    changed: Changed = False,
    as_json: AsJson = False,
) -> None:
    """Submit the runs that are missing, and return at once.

    Runs that are in a job already are not submitted again, so the command can be repeated at any
    time, also after it was killed. Runs that failed because memory or time ran out, or because
    their node failed, are tried again up to launch.attempts times; for other failures see
    anynet-study retry. --cluster debug trains in this process, where a debugger can follow.
    --cluster none starts nothing: it says which command starts a worker, by hand or by any other
    scheduler. With --parts 4, where no disk is shared, it writes four folders: take each to its
    machine, run anynet-study work FOLDER there, and collect with --from.
    --dry-run shows what sbatch would get, and needs neither Slurm nor data.

    \b
    Examples:
      anynet-study launch sweeps/paper.yaml --cluster slurm \\
        launch.slurm.partition=gpu launch.slurm.gpus_per_node=1
      anynet-study launch sweeps/paper.yaml --dry-run launch.slurm.array_parallelism=50
      anynet-study launch sweeps/paper.yaml --cluster none --parts 4
    """
    changes = _changes(overrides, cluster)
    if dry_run:
        from anynet_study.cli.dry_run import print_dry_run

        print_dry_run(sweep_file, changes, as_json, trust)
        return
    from anynet_study.engine.dispatch import Allowed, LaunchOptions, open_sweep

    if parts < 0:
        raise UserError(f"--parts: {parts} is too few; legal: 1 or more")
    options = LaunchOptions(parts=parts, allowed=Allowed(retrain, changed))
    _launch(open_sweep(sweep_file, changes), options, as_json)


def retry(
    study_name: StudyName,
    overrides: Changes = None,
    only: Only = "",
    cluster: Annotated[str, opt("local, slurm, debug or none; default: as launched.")] = "",
    retrain: Retrain = False,
    as_json: AsJson = False,
) -> None:
    """Submit failed runs of a study once more, and return at once.

    All failed runs are tried again, whatever the reason and however often they were tried before;
    launch and run retry only oom, timeout and node by themselves, up to launch.attempts times.
    Runs that ran out of memory get less work at a time. Without --only, runs that are missing are
    submitted, too.

    \b
    Examples:
      anynet-study retry paper
      anynet-study retry paper --only oom launch.slurm.mem_gb=64
      anynet-study retry paper --only node,timeout launch.slurm.exclude=node7
    """
    from anynet_study.engine.dispatch import EVERY_KIND, Allowed, LaunchOptions, open_study

    kinds = {kind.strip() for kind in only.split(",")} if only else EVERY_KIND
    if unknown := sorted(kinds - EVERY_KIND):
        kinds_there = ", ".join(sorted(EVERY_KIND))
        raise UserError(f"--only: unknown {unknown[0]!r}; choose from {kinds_there}")
    options = LaunchOptions(
        kinds=kinds,
        limited=False,
        only_failed=bool(only),
        allowed=Allowed(retrain),
    )
    study = open_study(study_name, _changes(overrides, cluster), whole=True)
    _launch(study, options, as_json)


def _launch(study: "OpenStudy", options: "LaunchOptions", as_json: bool) -> None:
    from anynet_study.engine.dispatch import launch_missing

    report, jobs = launch_missing(study, options)
    _print_launched(study.folder.folder, report, as_json, options.parts > 0)
    if study.sweep.launch.cluster == "debug":
        for job in jobs:  # that is when they train
            job.results()
    if study.sweep.launch.cluster == "none" and not as_json:
        for part in jobs if options.parts else ():
            print(f"part: {part}; on its machine: anynet-study work {part.name}")
        if not options.parts and report.runs_left + report.under_way:
            print(f"to start a worker, as often as you like: {_worker_line(study.folder.folder)}")


def _worker_line(folder: "Path") -> str:
    """The command that starts a worker, from any folder of any machine that has these disks."""
    import shlex

    from anynet_study.data import data_root

    data = f"ANYNET_DATA={shlex.quote(str(data_root().absolute()))}"
    return f"{data} anynet-study work {shlex.quote(str(folder.absolute()))}"


def _changes(overrides: list[str] | None, cluster: str) -> list[str]:
    return [*(overrides or []), *([f"launch.cluster={cluster}"] if cluster else [])]


def _submitted(report: "LaunchReport", in_parts: bool) -> str:
    """Say how many runs were submitted, and where to."""
    if in_parts:
        return f"{report.submitted:,} divided among {counted(report.jobs, 'folder')}"
    if report.jobs:
        return f"{report.submitted:,} submitted in {counted(report.jobs, 'job')}"
    if report.runs_left and not report.jobs_left:
        return f"{report.runs_left:,} for workers to take"
    return "nothing to submit"


def _print_launched(folder: "Path", report: "LaunchReport", as_json: bool, in_parts: bool) -> None:
    """Print what was submitted, and what is for a later launch."""
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(report), indent=2))
        return
    from anynet_study.engine.dispatch import damage_in_words

    print(
        f"{counted(report.runs, 'run')}: {report.recorded:,} recorded, {report.under_way:,} under "
        f"way, {_submitted(report, in_parts)}; see: anynet-study status {folder}"
    )
    for line in damage_in_words(report.damage):
        print(f"warning: {line}")
    if report.silent:
        print(
            f"no sign of life for long: {', '.join(report.silent)}; to end what hangs: "
            f"anynet-study cancel {folder}"
        )
    if report.awaited:
        print(
            f"tuning: {counted(report.awaited, 'further run')} when all trials before them have "
            "ended: launch again then"
        )
    if report.retried:
        print(f"failed before and tried again: {report.retried}")
    if report.failed:
        print(
            f"failed and not tried again: {report.failed}; for another try: anynet-study retry "
            f"{folder}"
        )
    if report.jobs_left:
        print(
            f"{report.jobs_left} jobs ({report.runs_left} runs) are left, because Slurm takes "
            f"no more now ({report.reason}): launch again later, or make jobs longer "
            "(launch.job_minutes)"
        )
