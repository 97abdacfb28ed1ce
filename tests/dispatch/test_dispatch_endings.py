"""How jobs ended, told from logs as submitit, srun and slurmstepd wrote them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from anynet_study.dispatch.endings import Ending, ending
from anynet_study.dispatch.ledger import SubmittedJob

JOB = SubmittedJob("5", "slurm", "login", 0.0, "9457b012de1d2c4a")
START = (
    "submitit INFO (2026-11-22 03:19:25,012) - Starting with JobEnvironment(job_id=5, "
    "hostname=n7, local_rank=0(1), node=0(1), global_rank=0(1))\n"
    "submitit INFO (2026-11-22 03:19:25,012) - Loading pickle: logs/5_submitted.pkl\n"
)
AT_RUN = START + "9457b012de1d2c4a digits 76665926656edef5 begins\n"
#: A time limit, as slurmstepd and then srun tell it.
LIMIT = """\
slurmstepd: error: *** JOB 5 ON n7 CANCELLED AT 2026-11-22T04:19:25 DUE TO TIME LIMIT ***
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd: error: *** STEP 5.0 ON n7 CANCELLED AT 2026-11-22T04:19:25 DUE TO TIME LIMIT ***
srun: error: n7: task 0: Killed
"""
KILLED = "srun: error: n7: task 0: Killed\nsrun: Force Terminated StepId=5.0\n"
OOM = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been "
    "OOM Killed.\nsrun: error: n7: task 0: Out Of Memory\n"
)
#: A higher partition wanted the node; and a user said scancel.
PREEMPTED = LIMIT.replace("TIME LIMIT", "PREEMPTION")
CANCELLED = LIMIT.replace(" DUE TO TIME LIMIT", "")
REQUEUED = LIMIT.replace("TIME LIMIT", "JOB REQUEUE")


def ended(folder: Path, out: str, err: str = "") -> Ending:
    (folder / "5_0_log.out").write_text(out)
    (folder / "5_0_log.err").write_text(err)
    end = ending(folder, JOB)
    assert end is not None
    return end


@pytest.mark.parametrize(
    ("err", "kind", "words"),
    [
        (LIMIT, "timeout", "ended at the job's time limit"),
        (OOM, "oom", "killed for want of memory"),
        (LIMIT.replace("TIME LIMIT", "NODE FAILURE, SEE SLURMCTLD LOG"), "node", "lost with"),
        (KILLED, "node", "killed, perhaps for want of memory"),
        ("", "node", "killed, perhaps for want of memory"),
        (KILLED.replace("Killed", "Segmentation fault"), "code", "segmentation fault"),
        (KILLED.replace("Killed", "Bus error (core dumped)"), "node", "bus error"),
        (PREEMPTED, "", "preempted"),
        (CANCELLED, "", "cancelled"),
        (REQUEUED, "", "requeued"),
    ],
)
def test_the_words_of_slurm_say_why(tmp_path: Path, err: str, kind: str, words: str) -> None:
    end = ended(tmp_path, AT_RUN, err)
    assert (end.runs, end.kind, end.host) == (("9457b012de1d2c4a",), kind, "n7")
    assert words in end.words


@pytest.mark.parametrize(
    "last",
    [
        "9457b012de1d2c4a: saved on <Signals.SIGTERM: 15>",
        "9457b012de1d2c4a digits 76665926656edef5 completed 12.50% in 3.0 s ",
        "9457b012de1d2c4a digits 76665926656edef5 failed nan% in 3.0 s ValueError: no",
        "submitit ERROR (2026-11-22 03:19:29,012) - Submitted job triggered an exception",
    ],
)
def test_who_left_in_order_was_at_no_run(tmp_path: Path, last: str) -> None:
    end = ended(tmp_path, AT_RUN + last + "\n", KILLED)
    assert (end.runs, end.kind) == ((), "")
    words = ("left in order", "it met an exception")
    assert end.words == words["exception" in last]
    assert ended(tmp_path, AT_RUN + last + "\n", CANCELLED).words in ("cancelled", words[1])


def test_who_never_began_a_run_failed_none(tmp_path: Path) -> None:
    assert ended(tmp_path, START, KILLED).runs == ()
    assert ending(tmp_path, replace(JOB, job_id="6")) is None


def test_the_runs_of_a_gpu_are_all_those_that_had_begun(tmp_path: Path) -> None:
    out = START + "".join(f"{run} digits a begins\n" for run in ("r1", "r2", "r3"))
    out += "r1: again with 2 at a time: CUDA out of memory\nr1 digits a begins\n"
    out += "r2 digits a completed 10.00% in 3.0 s \n"
    assert set(ended(tmp_path, out, KILLED).runs) == {"r1", "r3"}


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("CUDA error: an illegal memory access was encountered", "code"),
        ("CUDA error: device-side assert triggered", "code"),
        ("CUDA error: uncorrectable ECC error encountered", "node"),
    ],
)
def test_where_a_gpu_was_lost_all_its_runs_are_suspects(
    tmp_path: Path, reason: str, kind: str
) -> None:
    """The one that met the error waited for the GPU first; another may have caused it."""
    out = START + "".join(f"{run} digits a begins\n" for run in ("r1", "r2", "r3"))
    out += f"r2 digits a completed 10.00% in 3.0 s \nthe GPU was lost: {reason}\n"
    end = ended(tmp_path, out, KILLED)
    assert (set(end.runs), end.kind) == ({"r1", "r3"}, kind)
    assert end.words == f"killed: the GPU was lost: {reason}"
    assert not end.unexplained


def test_the_last_worker_of_a_requeued_job_counts(tmp_path: Path) -> None:
    later = START.replace("03:19:25", "05:00:00").replace("n7", "n8")
    out = AT_RUN + later + "beef digits a begins\n"
    end = ended(tmp_path, out, REQUEUED + OOM.replace("n7", "n8"))
    assert (end.runs, end.kind, end.host) == (("beef",), "oom", "n8")
    # Its node went away without a word; that the one before was requeued is no reason.
    assert ended(tmp_path, out, REQUEUED).kind == "node"


def test_when_it_wrote_last_and_to_whom_it_belonged(tmp_path: Path) -> None:
    (tmp_path / "5_0_log.out").write_text("worker of process 77\n" + AT_RUN)
    os.utime(tmp_path / "5_0_log.out", (1000.0, 1000.0))
    end = ending(tmp_path, JOB)
    assert end is not None
    assert end.ended == 1000.0
    assert ended(tmp_path, START + "worker of process 77\nbeef digits a begins\n").attached
    assert not ended(tmp_path, AT_RUN).attached
