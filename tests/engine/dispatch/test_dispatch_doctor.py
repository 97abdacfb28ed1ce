"""What the doctor finds: on this machine, and on sites made of scripts."""

import errno
import json
import os
import shutil
import time
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_study import command
from tiny_study import typing_in

from anynet_study.engine.dispatch import doctor
from anynet_study.engine.dispatch.doctor import FILE_PROBES, ProbeResult, examine, mount_of
from anynet_study.engine.dispatch.slurm.commands import ask

CONFIG = """
Configuration data as of 2026-11-22T03:14:16
AccountingStorageEnforce = associations,limits,qos,wckeys
DefMemPerNode           = UNLIMITED
JobRequeue              = 0
KillWait                = 30 sec
MaxArraySize            = 11
MaxJobCount             = 5000
PreemptMode             = CANCEL
PreemptType             = preempt/qos
SelectTypeParameters    = CR_CORE_MEMORY
SLURM_VERSION           = 23.11.4
TrackWCKey              = Yes
"""
SINFO = """\
short*|up|10:00|3|(null)
gpu|up|2-00:00:00|4|gpu:a100:4(S:0-1)
gpu|up|2-00:00:00|1|gpu:h200:8,license:1
old|drain|infinite|1|gpu:2
"""
ASSOCIATIONS = "vision||200|10|normal,two\nspeech||||\n"
QOS = "normal||||\ntwo|2|1||1-00:00:00\nothers|7|||\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only commands are in `bin`; there are none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    for name in ("scontrol", "sinfo", "sacct", "sacctmgr", "quota"):
        command(name, "echo no such service >&2; exit 1")
    return tmp_path


def says(name: str, text: str, when: str = "") -> None:
    """A command that prints a text; with words of which one must be among its arguments."""
    Path("bin", f"{name}.text").write_text(text)
    told = f"cat {Path.cwd()}/bin/{name}.text"
    command(name, f'case "$*" in *{when}*) {told};; esac' if when else told)


def found(folder: Path) -> dict[str, ProbeResult]:
    return {finding.check: finding for finding in examine(folder)}


def test_a_site_with_slurm_is_told_what_to_set(site: Path) -> None:
    says("scontrol", CONFIG)
    says("sinfo", SINFO)
    command("sacct", "true")
    (site / "qos").write_text(QOS)
    (site / "associations").write_text(ASSOCIATIONS)
    command(
        "sacctmgr", f'case "$*" in *" qos "*) cat {site}/qos;; *) cat {site}/associations;; esac'
    )
    told = found(site)
    assert told["Slurm"].found == "23.11.4"
    assert (told["MaxArraySize"].found, told["MaxArraySize"].advice) == (
        "11",
        "launch splits arrays there",
    )
    assert told["MaxJobCount"].found == "5,000 jobs of all users"
    assert told["preemption"].found == "CANCEL (qos)"
    assert "do not come back" in told["preemption"].advice
    assert told["JobRequeue"].found == "not by default"
    assert "launch.slurm.mem_gb" in told["memory"].advice
    assert "launch.slurm.wckey" in told["wckey"].advice
    assert told["partition short (default)"].found == "3 nodes, at most 10:00, no GPUs"
    gpus = told["partition gpu"]
    assert gpus.found == "5 nodes, at most 2-00:00:00, 4 GPUs (a100) a node, 8 GPUs (h200) a node"
    assert gpus.advice == "to use it: launch.slurm.partition=gpu launch.slurm.gpus_per_node=1"
    assert told["partition old"].found == "1 node, no time limit, 2 GPUs a node; it is drain"
    assert told["sacct"].found == "on"
    assert told["account"].found == "speech, vision"
    assert told["account vision"].found == "at most 200 jobs queued, 10 running"
    assert told["QOS two"].found == "at most 2 jobs queued, 1 running, jobs of at most 1-00:00:00"
    assert "QOS others" not in told


def test_a_site_that_says_little(site: Path) -> None:
    says("scontrol", "SLURM_VERSION = 22.05.8\nPreemptMode = OFF\n")
    told = found(site)
    assert told["Slurm"].found == "22.05.8"
    assert told["preemption"].found == "off"
    assert told["MaxArraySize"].found == told["JobRequeue"].found == "not told"
    assert told["partitions"].found == "not told: no such service"
    assert told["sacct"].found == "off (no such service)"
    assert "submit limits" in told


def test_requeueing_preemption_is_fine(site: Path) -> None:
    says("scontrol", "PreemptMode = REQUEUE\nPreemptType = preempt/partition_prio")
    told = found(site)["preemption"]
    assert (told.found, told.level) == ("REQUEUE (partition_prio)", "ok")


@pytest.mark.parametrize(
    ("is_there", "said"),
    [(False, "none here"), (True, "does not answer: no such service")],
)
def test_without_slurm_the_rest_is_probed(
    site: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool, said: str
) -> None:
    if not is_there:
        monkeypatch.setenv("PATH", str(site / "none"))
    told = found(site)
    assert told["Slurm"].found == said
    assert ("there is no command" in told["quota"].found) is not is_there
    assert not {"MaxArraySize", "sacct", "partitions"} & set(told)
    assert {"this machine", "GPUs here", "file system", *FILE_PROBES} <= set(told)


def test_this_machine_has_all_that_studies_rely_on(tmp_path: Path) -> None:
    told = found(tmp_path)
    for check in ("files", "fsync", "locks", "clock"):
        assert told[check].level != "problem", told[check]
        assert "could not be told" not in told[check].found
    gib = shutil.disk_usage(tmp_path).free / 2**30
    assert float(told["space"].found.split()[0]) == pytest.approx(gib, abs=1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_locks_or_room(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(doctor, "FileLock", refuse)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(5 << 20))
    told = found(site)
    assert "No locks available" in told["locks"].found
    assert told["space"].level == "problem"


def test_the_file_system_s_clock_may_be_wrong(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(doctor.time, "time", lambda: now + 100)
    told = doctor.clock(site)
    assert told.level == "problem"
    assert "differs by 9" in told.found


def test_a_quota_that_is_exceeded(site: Path) -> None:
    says("quota", "Disk quotas for user me:\n   /home  3 GiB* 2 GiB 2 GiB 6days 10 0 0\n")
    told = doctor.quota(site)
    assert (told.level, told.found) == ("problem", "/home 3 GiB* 2 GiB 2 GiB 6days 10 0 0")


def test_a_folder_that_cannot_be_written_is_told_and_not_raised(site: Path) -> None:
    missing = found(site / "nowhere")
    assert missing["folder"].level == "problem"
    assert "fsync" not in missing
    broken = {"fsync": lambda _: 1 / 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "FILE_PROBES", broken)
        assert found(site)["fsync"].found == "could not be told: division by zero"


def test_the_mount_that_was_made_last_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = [("/", "ext4"), ("/home", "nfs4"), ("/home/a b", "lustre"), ("/home/a b/c", "tmpfs")]
    disks = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in mounts]
    disks.insert(2, SimpleNamespace(mountpoint="/home", fstype="nfs"))
    monkeypatch.setattr(doctor.psutil, "disk_partitions", lambda all: disks)
    assert mount_of(Path("/home/a b/study")) == ("lustre", Path("/home/a b"))
    assert mount_of(Path("/home/else")) == ("nfs", Path("/home"))
    assert mount_of(Path("/homeless")) == ("ext4", Path("/"))


def test_a_command_that_is_slow_or_missing_is_an_answer(site: Path) -> None:
    command("slow", "sleep 5")
    assert ask("slow", patience=0.2).error == "slow does not answer"
    assert ask("no-such-command").error == "there is no command no-such-command"


def test_of_many_lines_on_a_failure_the_one_that_says_why_is_told(site: Path) -> None:
    command("lost", "printf 'lost: error: no\\nlost: fatal: no configuration\\n' >&2; exit 1")
    command("left", "printf 'left: error: no such job\\nleft: error: nor that\\n' >&2; exit 1")
    assert ask("lost").error == "lost: fatal: no configuration"
    assert ask("left").error == "left: error: no such job"


def test_the_command_s_table_fits_and_json_has_it_all(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says("scontrol", CONFIG)
    says("sinfo", SINFO)
    monkeypatch.setenv("COLUMNS", "80")
    type_ = typing_in(site, monkeypatch, capsys)
    told = type_("doctor")
    assert told.code == 0
    assert max(map(len, told.out.splitlines())) <= 80
    assert "launch.slurm.gpus_per_node=1" in told.out
    rows: list[dict[str, Any]] = json.loads(type_("doctor", "--json").out)
    assert {"check", "found", "advice", "level"} == set(rows[0])
    assert os.listdir(site) == ["bin"]
