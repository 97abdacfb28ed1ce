"""What a site's own commands tell of its limits."""

from pathlib import Path

import pytest

from anynet_study.dispatch.slurm.site import Site


def program(path: Path, *lines: str) -> None:
    told = path.with_suffix(".txt")
    told.write_text("".join(f"{line}\n" for line in lines))
    path.write_text(f"#!/bin/sh\ncat {told}\n")
    path.chmod(0o755)


def test_limits_are_the_site_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path / "scontrol", "MaxArraySize            = 11", "MaxDBDMsgs = 20012")
    partitions = ("main*|1-12:00:00", "short|30:00", "free|infinite", "long|10-00:00:00")
    program(tmp_path / "sinfo", *partitions, "tiny|2:30:00")
    site = Site.ask()
    assert site.array_size == 11
    asked = ("", "main", "short", "free", "long", "tiny", "short,tiny", "short,free", "unknown")
    limits = [site.longest(partition) for partition in asked]
    assert limits == [2160, 2160, 30, None, 14400, 150, 150, None, None]


def test_without_a_slurm_they_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert Site.ask() == Site()
    assert Site().array_size == 1001
