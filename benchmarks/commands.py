"""How long everyday commands take, in CPU seconds, against their goals.

    python -m benchmarks.commands STUDY         (a collected study; a quarter of an hour, most of it
                                                 for a million models)

Tables of errors are made here; `STUDY` is a folder such as studies/quickstart. CPU seconds count
user and system time of the command and of what it starts. On a machine that others keep busy they
grow too: the row that imports pandas tells by how much. Modules are compiled once, as `pip` leaves
them, also where the environment forbids Python to write bytecode.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

COMMAND = [sys.executable, "-m", "anynet_study"]
ENVIRONMENT = {name: it for name, it in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
#: Models and datasets of the tables.
TABLES = {
    **{"wide": (213, 213), "long": (15_625, 3), "million": (1_000_000, 2), "paper": (500, 15)},
    "many": (5_000, 300),
}


def make_table(path: Path, models: int, datasets: int) -> None:
    """Errors of a common quality with noise, in percent."""
    generator = np.random.default_rng(0)
    quality = generator.normal(size=models)
    columns = {
        f"dataset-{number}": 30 + 3 * quality + generator.normal(0, 2, models)
        for number in range(datasets)
    }
    pd.DataFrame(columns).rename_axis("model").round(2).to_csv(path)


def cpu_seconds(command: list[str]) -> tuple[float, float]:
    """User and system seconds of a command, and MiB at most. Raises CalledProcessError."""
    null = subprocess.DEVNULL
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=ENVIRONMENT, stdout=null, stderr=null)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss / 1024


def main(study: str) -> None:
    """Print a line per command: CPU seconds, the goal, and the most memory of any so far."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table, size in TABLES.items():
            make_table(folder / f"{table}.csv", *size)
        one = ["--table", "correlations"]
        rows: list[tuple[str, list[str], float | None]] = [
            ("import pandas", [sys.executable, "-c", "import pandas"], None),
            ("--version", [*COMMAND, "--version"], None),
            (  # of at most 600 MiB
                "import of 5,000 x 300",
                [*COMMAND, "import", f"{folder}/many.csv", "--error", "-o", f"{folder}/many.h5"],
                6,
            ),
            ("query", [*COMMAND, "query", study], 0.8),
            ("status", [*COMMAND, "status", study], 0.8),
            ("report", [*COMMAND, "report", study, "-o", f"{folder}/report"], 6),
            ("analyze --table match", [*COMMAND, "analyze", study, "--table", "match"], 1.5),
            ("analyze of 500 x 15", [*COMMAND, "analyze", f"{folder}/paper.csv", *one], None),
            ("analyze of 213 x 213", [*COMMAND, "analyze", f"{folder}/wide.csv", *one], 10),
            (
                "Kendall of 15,625 x 3",
                [*COMMAND, "analyze", f"{folder}/long.csv", *one, "--method", "kendall"],
                20,
            ),
            (
                "analyze of 1,000,000 x 2",
                [*COMMAND, "analyze", f"{folder}/million.csv", *one],
                None,
            ),
        ]
        for _, command, _ in rows[:5]:
            cpu_seconds(command)  # compiles what they import
        for what, command, goal in rows:
            seconds, memory = cpu_seconds(command)
            told = f" (goal: {goal:g})" if goal else ""
            print(f"{what:26} {seconds:6.2f} s of CPU{told}; up to {memory:,.0f} MiB", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
