"""The call of sbatch: in what environment, and what its refusals mean."""

import os
import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from anynet_study.errors import WorkFailedError

#: The queue takes no more jobs now, or not so many at once: fewer may be taken, or later.
FULL = re.compile(
    r"MaxSubmit|SubmitJob\w*Limit|MaxJobCount|sleeping and retrying|temporarily unavailable"
    r"|job array spec|violates accounting/QOS policy"
)
#: Of these it is told that the number of jobs is the reason.
COUNTED = re.compile(r"MaxSubmit|SubmitJob\w*Limit|MaxJobCount|sleeping|temporarily unavailable")
#: sbatch would go on for two minutes.
RETRIES = re.compile("sleeping and retrying")
#: The job may be queued all the same.
UNCERTAIN = re.compile(r"timed out|[Uu]nable to contact|Zero Bytes|connect failure")

#: Who pays, and where: a user's own defaults, unless the sweep says otherwise.
DEFAULTS = {
    "SBATCH_ACCOUNT": "account",
    "SBATCH_PARTITION": "partition",
    "SBATCH_QOS": "qos",
    "SBATCH_RESERVATION": "reservation",
    "SBATCH_CLUSTERS": "clusters",
}
#: Where Slurm is.
PLACES = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS"})
#: What a job's own environment holds, of no meaning for another.
INHERITED = re.compile(
    r"(SLURM|SLURMD|SBATCH|SRUN|SALLOC|SUBMITIT)_|(CUDA|HIP|ROCR)_VISIBLE_DEVICES$|GPU_DEVICE_ORD"
)


class RefusedError(WorkFailedError):
    """sbatch did not take a job, in its words."""

    def __init__(self, words: str) -> None:
        super().__init__(f"sbatch: {words}")
        self.words = words
        self.is_certain = not UNCERTAIN.search(words)


class QueueFullError(RefusedError):
    """There is no room for so many jobs now."""

    @property
    def is_counted(self) -> bool:
        """Whether the number of jobs is the reason, beyond doubt."""
        return bool(COUNTED.search(self.words))


def sbatch(
    script: Path, options: Collection[str], variables: Mapping[str, str] | None = None
) -> str:
    """Submit a script; Slurm's job id. `options` that it states are not taken from elsewhere.

    `variables` are added to what jobs find in their environment.

    Raises QueueFullError or RefusedError.
    """
    environment = {**submission_environment(os.environ, options), **(variables or {})}
    try:
        process = subprocess.Popen(
            ["sbatch", str(script)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
    except OSError as error:
        raise RefusedError(error.strerror or str(error)) from None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        said = []
        for line in process.stderr:
            said.append(line)
            if RETRIES.search(line):
                process.kill()
        answer = process.stdout.read()
    words = " ".join("".join(said).replace("sbatch: error: ", "").split())
    job_id = re.search(r"job (\d+)", answer)
    if process.returncode == 0 and job_id:
        return job_id[1]
    words = words or answer.strip() or f"exit code {process.returncode}"
    raise QueueFullError(words) if FULL.search(words) else RefusedError(words)


def submission_environment(
    environment: Mapping[str, str], options: Collection[str]
) -> dict[str, str]:
    """Without what a shell inside a job would pass on, and what would overrule the script.

    Its variables bind CPUs, name devices and set limits; those of sbatch go before the options in
    a script. A user's defaults stay where the script has no such option.
    """
    kept = PLACES | {name for name, option in DEFAULTS.items() if option not in options}
    return {
        name: value
        for name, value in environment.items()
        if name in kept or not INHERITED.match(name)
    }
