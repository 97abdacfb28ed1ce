"""A Slurm of a few shell scripts, for what is told apart by its commands' answers alone."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from anynet_study.engine.dispatch.ledger import intend, settle
from anynet_study.engine.dispatch.slurm.commands import comment_of

SBATCH = r"""
script=$(realpath "$1")
text=$(cat "$script")
cd "$FAKE" || exit 9
exec 9>lock
flock 9
field() { printf '%s\n' "$text" | sed -n "s/^#SBATCH --$1=//p" | tr -d "'"; }
range=$(field array | sed 's/^0-//; s/%.*//')
tasks=$((${range:--1} + 1))
queued=$(grep -c . queue)
if [ "$tasks" -gt "$(cat max_array)" ]; then
    echo "sbatch: error: Batch job submission failed: Invalid job array specification" >&2
    exit 1
fi
if [ $((queued + (tasks ? tasks : 1))) -gt "$(cat max_submit)" ]; then
    cat refusal >&2
    exit 1
fi
id=$(($(cat last) + 1))
echo $id >last
cp "$script" "scripts/$id.sh"
env >"scripts/$id.env"
cat before_queue | sh -s $PPID
comment=$(field comment)
if [ "$tasks" = 0 ]; then
    echo "$id|PENDING|N/A||Priority|$comment" >>queue
else
    seq 0 $((tasks - 1)) | sed "s/.*/${id}_&|PENDING|N\/A||Priority|$comment/" >>queue
fi
cat after_queue | sh -s $PPID
echo "Submitted batch job $id"
"""
#: In the words of Slurm 22.05.
FULL = """sbatch: error: AssocMaxSubmitJobLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit \
limit, user's size and/or time limits)
"""


def program(folder: Path, name: str, script: str) -> Path:
    """A command in a folder, which is to be on PATH: a script of the shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


class FakeSlurm:
    """Commands on PATH, and the folder in which they keep what they know."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, programs = folder, folder / "bin"
        programs.mkdir(parents=True)
        (folder / "scripts").mkdir()
        for name, script in {
            "sbatch": SBATCH,
            "srun": "",
            "squeue": 'cat "$FAKE/queue"',
            "scontrol": 'echo "MaxArraySize            = $(cat "$FAKE/max_array")"',
            "sinfo": 'printf "main*|infinite\\nshort|30:00\\n"',
        }.items():
            program(programs, name, script)
        for name in ("queue", "before_queue", "after_queue"):
            (folder / name).touch()
        self.set(last=0, max_array=1001, max_submit=1_000_000, refusal=FULL)
        patch.setenv("FAKE", str(folder))
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def set(self, **values: object) -> None:
        """Change limits, the words of a refusal, or what happens before and after queueing."""
        for name, value in values.items():
            (self.folder / name).write_text(f"{value}\n" if not isinstance(value, str) else value)

    @property
    def queue(self) -> list[str]:
        """The ids of all jobs."""
        lines = (self.folder / "queue").read_text().splitlines()
        return [line.split("|")[0] for line in lines]

    @property
    def scripts(self) -> dict[int, str]:
        """What sbatch was given, by job id."""
        paths = (self.folder / "scripts").glob("*.sh")
        return {int(path.stem): path.read_text() for path in sorted(paths, key=_number)}

    def option(self, name: str) -> list[str | None]:
        """The values of an option in all scripts, in order."""
        found = [re.search(rf"^#SBATCH --{name}=(.*)$", it, re.M) for it in self.scripts.values()]
        return [each and each[1] for each in found]

    def environment(self, job_id: int) -> dict[str, str]:
        """That of sbatch."""
        text = (self.folder / "scripts" / f"{job_id}.env").read_text()
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def forget(self) -> None:
        """All jobs have ended."""
        (self.folder / "queue").write_text("")


def slurm_job(folder: Path, job_id: str, runs: Iterable[str]) -> str:
    """Write the entry of a single job just queued to a ledger; what it bears as its comment."""
    token = intend(folder, [" ".join(runs)], is_array=False)
    settle(folder, token, job_id)
    return comment_of(token)


def _number(path: Path) -> int:
    return int(path.stem)
