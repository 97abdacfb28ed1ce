"""The doctor: probes of a site, all of them one after the other."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from anynet_study.dispatch.doctor.machine import FILE_PROBES, probe_machine, probe_place
from anynet_study.dispatch.doctor.slurm_site import (
    ProbeResult,
    probe_accounts,
    probe_partitions,
    probe_slurm,
)

__all__ = ["ProbeResult", "examine"]


def examine(folder: Path) -> list[ProbeResult]:
    """What there is to know of Slurm, this machine, and the file system of `folder`.

    Never raises: a probe that fails is a finding. Files that are written there are removed.
    """
    results = list(_safely("Slurm", probe_slurm))
    if not any(result.check == "Slurm" and result.level != "ok" for result in results):
        results += _safely("partitions", probe_partitions)
        results += _safely("accounts", probe_accounts)
    results += _safely("this machine", probe_machine)
    results += _safely("folder", partial(probe_place, folder))
    if folder.is_dir():
        for check, probe in FILE_PROBES.items():
            results += _safely(check, partial(_only, probe, folder))
    return results


def _only(probe: Callable[[Path], ProbeResult], folder: Path) -> list[ProbeResult]:
    return [probe(folder)]


def _safely(check: str, probe: Callable[[], Iterable[ProbeResult]]) -> Iterator[ProbeResult]:
    try:
        yield from probe()
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        yield ProbeResult(check, f"could not be told: {words}", level="note")
