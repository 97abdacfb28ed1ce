"""The command that tries failed runs of a study once more."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from anynet_study.cli.study import AsJson, Overrides, StudyName
from anynet_study.errors import UserError

if TYPE_CHECKING:
    from anynet_study.cli.prepared import Prepared

Only = Annotated[
    str, typer.Option("--only", help="Failures of these kinds alone: oom,data,timeout,node,code.")
]


def retry(
    study_name: StudyName,
    overrides: Overrides = None,
    only: Only = "",
    cluster: Annotated[str, typer.Option(help="local or slurm; default: as launched.")] = "",
    as_json: AsJson = False,
) -> None:
    """Submit failed runs of a study once more, and return at once.

    Whatever their failure was, and however often they were tried: launch and run by themselves
    only retry oom, timeout and node, launch.attempts times. Runs that were short of memory get
    less work at a time. Without --only, what is missing is submitted, too. The sweep is the
    study's own; launch.* may be changed.

    \b
    Examples:
      anynet-study retry paper
      anynet-study retry paper --only oom launch.slurm.mem_gb=64
      anynet-study retry paper --only node,timeout launch.slurm.exclude=node7
    """
    from anynet_study.cli.alone import alone
    from anynet_study.cli.launch import check_cluster, print_launched, submit_missing
    from anynet_study.dispatch.endings.retries import EVERY_KIND

    kinds = {kind.strip() for kind in only.split(",")} if only else EVERY_KIND
    if unknown := sorted(kinds - EVERY_KIND):
        raise UserError(f"--only: no {unknown[0]!r}; legal: {', '.join(sorted(EVERY_KIND))}")
    changes = [*(overrides or []), *([f"launch.cluster={cluster}"] if cluster else [])]
    prepared = _reopened(study_name, changes)
    check_cluster(prepared)
    with alone(prepared.study):
        told = submit_missing(prepared, kinds, limited=False, only_failed=bool(only))
    print_launched(prepared, told, as_json)


def _reopened(study_name: str, changes: list[str]) -> "Prepared":
    """A study with changes of how it is launched."""
    from anynet_study.cli.prepared import reopen
    from anynet_study.sweep import Sweep

    for change in changes:
        if not change.startswith("launch."):
            raise UserError(f"{change}: a study stays what it is; only launch.* can be changed")
    prepared = reopen(study_name)
    return replace(prepared, sweep=Sweep.load(prepared.study.sweep_file, changes))
