"""All probes, one after the other."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from anynet_study.dispatch.doctor.machine import FILE_PROBES, probe_machine, probe_place
from anynet_study.dispatch.doctor.slurm_site import (
    Finding,
    probe_accounts,
    probe_partitions,
    probe_slurm,
)


def examine(folder: Path) -> list[Finding]:
    """What there is to know of Slurm, this machine, and the file system of `folder`.

    Never raises: a probe that fails is a finding. Files that are written there are removed.
    """
    findings = list(_safely("Slurm", probe_slurm))
    if not any(it.check == "Slurm" and it.level != "ok" for it in findings):
        findings += _safely("partitions", probe_partitions)
        findings += _safely("accounts", probe_accounts)
    findings += _safely("this machine", probe_machine)
    findings += _safely("folder", partial(probe_place, folder))
    if folder.is_dir():
        for check, probe in FILE_PROBES.items():
            findings += _safely(check, partial(_only, probe, folder))
    return findings


def _only(probe: Callable[[Path], Finding], folder: Path) -> list[Finding]:
    return [probe(folder)]


def _safely(check: str, probe: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    try:
        yield from probe()
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        yield Finding(check, f"could not be told: {words}", level="note")
