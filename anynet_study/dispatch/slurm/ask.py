"""What a command of Slurm, or of the system, says."""

import subprocess
from dataclasses import dataclass

#: How long a command may take to answer, in seconds.
PATIENCE = 30.0


@dataclass(frozen=True)
class Answer:
    """What a command said, and whether it succeeded."""

    text: str
    #: Its words on errors, or why it could not be run, in a line.
    error: str
    works: bool

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


def ask(*command: str) -> Answer:
    """Run a command; that it fails, is slow or is not there is an answer, too."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
    except FileNotFoundError:
        return Answer("", f"there is no {command[0]}", works=False)
    except subprocess.TimeoutExpired:
        return Answer("", f"{command[0]} does not answer", works=False)
    except OSError as error:
        return Answer("", f"{command[0]}: {error.strerror}", works=False)
    return Answer(done.stdout, " ".join(done.stderr.split()), done.returncode == 0)


def told(*command: str) -> str:
    """What a command prints; nothing where it fails, is slow or is not there."""
    answer = ask(*command)
    return answer.text if answer.works else ""
