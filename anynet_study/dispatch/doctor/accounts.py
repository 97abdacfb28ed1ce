"""What accounting says: whether it is on, and how many jobs this user may submit."""

import getpass
from collections.abc import Iterator

from anynet_study.dispatch.doctor.finding import Finding
from anynet_study.dispatch.slurm.ask import ask

ASSOCIATION = ("Account", "Partition", "MaxSubmit", "GrpSubmit", "MaxJobs", "QOS")
QOS = ("Name", "MaxSubmitPU", "MaxJobsPU", "GrpSubmit", "MaxWall")


def probe_accounts() -> Iterator[Finding]:
    """From sacct and sacctmgr, where they answer."""
    yield sacct()
    accounts = _table("associations", ASSOCIATION, "user=" + getpass.getuser())
    if accounts is None:
        yield Finding("submit limits", "not told (no accounting)", "launch tries and sees")
        return
    if not accounts:
        advice = "ask for one if sbatch refuses, and set launch.slurm.account"
        yield Finding("account", "none of yours", advice, "note")
    names = sorted({row["Account"] for row in accounts})
    if len(names) > 1:
        yield Finding("account", ", ".join(names), "launch.slurm.account chooses")
    for row in accounts:
        yield _limits(f"account {row['Account']}", row, ("MaxSubmit", "GrpSubmit"), "MaxJobs")
    mine = {name for row in accounts for name in row["QOS"].split(",") if name}
    for row in _table("qos", QOS) or []:
        if row["Name"] in mine:
            submits = ("MaxSubmitPU", "GrpSubmit")
            finding = _limits(f"QOS {row['Name']}", row, submits, "MaxJobsPU")
            wall = f", jobs of at most {row['MaxWall']}" if row["MaxWall"] else ""
            yield Finding(finding.check, finding.found + wall, finding.advice, finding.level)


def sacct() -> Finding:
    told = ask("sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID")
    if told.works:
        return Finding("sacct", "on", "why jobs were killed is told more exactly")
    return Finding("sacct", f"off ({told.error or 'it fails'})", "not needed")


def _limits(check: str, row: dict[str, str], submits: tuple[str, ...], running: str) -> Finding:
    most = min((int(row[name]) for name in submits if row[name].isdigit()), default=None)
    found = "any number of jobs" if most is None else f"at most {most} jobs queued"
    if row[running].isdigit():
        found += f", {row[running]} running"
    advice = (
        "" if most is None else "what is over is for a later launch; longer: launch.job_minutes"
    )
    return Finding(check, found, advice)


def _table(what: str, columns: tuple[str, ...], *where: str) -> list[dict[str, str]] | None:
    """A table of sacctmgr; None where it does not answer."""
    options = ("--noheader", "--parsable2", f"format={','.join(columns)}")
    told = ask("sacctmgr", "--readonly", "show", what, *where, *options)
    if not told.works:
        return None
    rows = (line.split("|") for line in told.lines)
    return [dict(zip(columns, row, strict=True)) for row in rows if len(row) == len(columns)]
