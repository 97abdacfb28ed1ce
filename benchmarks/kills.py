"""Random kills of a small study: is a finished run ever lost, or doubled?

    python -m benchmarks.kills 500

Starts `anynet-study run` on a study of 12 short runs with two workers, kills the launcher, or it
and its workers, at a random moment, looks at the journals, and starts again, until so many kills
are done; a study that ends is compared with one that was never killed, and another begins. About
five seconds a kill. Exits with 1 where a recorded run was gone after a kill, a run was recorded
twice, or a study ended with other results.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from anynet_study.store import read_journals, stores_equal

SWEEP = """
name: {name}
population:
  space: {{base: anynetx, depths: [1, 2], widths: [8, 32], stem: cifar, stem_width: 8}}
  count: 6
  flops: [5.0e4, 2.0e5]
  resolution: 8
  classes: 10
source: digits
datasets:
  digits: {{per_class: 40}}
  blobs: {{per_class: 40}}
recipes: {{basic: {{epochs: 3, batch_size: 16, crop: none, flip: false}}}}
launch: {{workers: 2, checkpoint_seconds: 1}}
"""
#: Seconds after which a study is killed, at most: about as long as one takes.
LONGEST = 12.0
#: Seconds that a study may take that is not killed.
HANGS = 300.0


def start(folder: Path, name: str) -> "subprocess.Popen[bytes]":
    """Begin a study, or go on with it."""
    (folder / f"{name}.yaml").write_text(SWEEP.format(name=name))
    return subprocess.Popen(
        [sys.executable, "-m", "anynet_study", "run", f"{name}.yaml", "--resamples", "100"],
        cwd=folder,
        env={**os.environ, "ANYNET_DATA": str(folder / "data")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill(process: "subprocess.Popen[bytes]", workers_too: bool) -> None:
    """kill -9, and wait until those that were killed are gone."""
    launcher = psutil.Process(process.pid)
    workers = launcher.children(recursive=True)
    for each in [launcher, *workers] if workers_too else [launcher]:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGKILL)
    process.wait()
    if workers_too:
        psutil.wait_procs(workers, timeout=HANGS)


def recorded(folder: Path, name: str) -> Counter[str]:
    """How often each run of a study is recorded as completed."""
    journals = folder / "studies" / name / "journals"
    table = read_journals(journals, problems={}).to_pandas() if journals.is_dir() else None
    return Counter() if table is None else Counter(table["run_id"][table["status"] == "completed"])


def differs(folder: Path, name: str) -> bool:
    """Whether an ended study has other results than the one that was never killed."""
    stores = [folder / "studies" / each / "results.h5" for each in (name, "whole")]
    return stores_equal(*stores) != []


def main() -> int:
    """Kill, look, go on; print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    draw, kills, ended = random.Random(told.seed), 0, 0
    lost = doubled = different = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if start(folder, "whole").wait(HANGS):
            raise SystemExit("the study fails without being killed, too")
        name, before = "study-0", Counter[str]()
        while kills < told.kills:
            process = start(folder, name)
            with suppress(subprocess.TimeoutExpired):
                process.wait(draw.uniform(0.2, LONGEST))
            if done := process.poll() is not None:
                ended += 1
                different += differs(folder, name)
            else:
                kill(process, workers_too=draw.random() < 0.7)
                kills += 1
            now = recorded(folder, name)
            lost += len(before.keys() - now.keys())
            doubled += sum(count > 1 for count in now.values()) if done else 0
            before = now
            if done:
                name, before = f"study-{ended}", Counter()
            if sys.stderr.isatty():
                print(f"\r{kills}/{told.kills} kills", end="", file=sys.stderr)
        time.sleep(1)
    print(f"{kills} kills, {ended} studies ended; lost {lost}, doubled {doubled}, ", end="")
    print(f"with other results {different}")
    return int(bool(lost or doubled or different))


if __name__ == "__main__":
    sys.exit(main())
