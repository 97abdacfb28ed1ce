"""The engine on a GPU that it has never seen: what works, how fast it is, in files to send back.

    python -m benchmarks.gpu [-o FOLDER] [--only PART ...] [--quick] [--device cuda|cpu]

The parts run in the order below, each in a process of its own and for at most eight minutes: what
fails is told with its reason, and the others go on. FOLDER (default gpu) has a JSON file for each
part, with each row as soon as it is measured, a log with all that it said (tracebacks, pytest's
report), the kernels of `profile` and the table that `layers` measures. With `--device cpu` what
needs no GPU is tried as it would be on one; `--quick` is for that.

Exit code 1 where a part failed or a goal was missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch

from anynet_study.core.files import write_text
from anynet_study.engine.dispatch.work import keep_freed_memory
from benchmarks.gpu import feeds, layers, speed, works
from benchmarks.gpu.parts import NoGpuError, Part, Row, Setup

#: Seconds that a part may take.
MOST_SECONDS = 480.0
#: A line of a part: what, how much, and the goal.
TABLE = "{:<44} {:>26}  {}"
#: In the order in which a new GPU is tried: what comes later is worth nothing if these fail.
PARTS: dict[str, Callable[[Setup], Iterator[Row]]] = {
    "machine": works.machine,
    "smoke": works.smoke,
    "tests": works.tests,
    "kernels": works.kernels,
    "agreement": works.agreement,
    "sanitizer": works.sanitizer,
    "profile": speed.profiled,
    "norms": layers.norms,
    "layers": layers.measured,
    "evaluation": speed.evaluation,
    "together": speed.together,
    "CIFAR-10": speed.runs_an_hour(speed.LENGTHS[32]),
    "224 pixels": speed.runs_an_hour(speed.LENGTHS[224]),
    "peers": speed.peers,
    "memory": works.memory,
    "feeds": feeds.feeds,
    "failures": works.failures,
}
#: Parts of parts.
WITHIN = {"three steps": works.three_steps}


def run_here(name: str, device: str, quick: bool, out: Path) -> Part:
    """A part, in this process; what it raises is its failure. Its file has each row at once."""
    began, rows = time.perf_counter(), list[Row]()
    failed = skipped = ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            setup = Setup(torch.device(device), quick, Path(folder), out)
            for row in (PARTS | WITHIN)[name](setup):
                rows.append(row)
                _keep(name, out, Part(rows, time.perf_counter() - began, "it did not end"))
        except NoGpuError as error:
            skipped = str(error)
        except (Exception, SystemExit) as error:  # whatever it is: the other parts go on
            traceback.print_exc()
            failed = f"{type(error).__name__}: {_last_line(str(error))}"
    part = Part(rows, time.perf_counter() - began, failed, skipped)
    _keep(name, out, part)
    return part


def run_apart(name: str, device: str, quick: bool, out: Path) -> Part:
    """A part, in a process of its own: a GPU that fails in one is whole again in the next."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--here", name, "--device", device]
    command += ["-o", str(out), *(["--quick"] if quick else [])]
    log = file_of(name, out, "log")
    _keep(name, out, Part())
    why = ""
    try:
        with log.open("w", encoding="utf-8") as said:
            code = subprocess.run(
                command, stdout=said, stderr=subprocess.STDOUT, timeout=MOST_SECONDS
            ).returncode
            why = f"exit {code}: {_last_line(log.read_text('utf-8'))}" if code else ""
    except subprocess.TimeoutExpired:
        why = f"took more than {MOST_SECONDS:g} s"
    told = json.loads(file_of(name, out, "json").read_bytes())[name]
    part = Part(**{**told, "rows": [Row(**row) for row in told["rows"]]})
    if why:
        part = replace(part, failed=why)
        _keep(name, out, part)
    return part


def _keep(name: str, out: Path, part: Part) -> None:
    write_text(file_of(name, out, "json"), json.dumps({name: asdict(part)}, indent=1))


def file_of(part: str, out: Path, suffix: str) -> Path:
    """Where something of a part is kept."""
    return out / f"part-{part.replace(' ', '-')}.{suffix}"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no words"


def lines(name: str, part: Part) -> list[str]:
    """What became of a part, for people."""
    words = f" FAILED: {part.failed}" if part.failed else ""
    words += f" left out: {part.skipped}" if part.skipped else ""
    found = [f"== {name} ({part.seconds:.0f} s){words}"]
    for row in part.rows:
        verdict = {None: "", True: "", False: "MISSED: "}[row.reached]
        value = f"{row.value:,g}" if isinstance(row.value, float) else str(row.value)
        found.append(TABLE.format(row.what, value, verdict + row.goal).rstrip())
    return found


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    if options.here:
        keep_freed_memory()  # as a worker does
        torch.set_num_threads(1)
        run_here(options.here, options.device, options.quick, options.o)
        return 0
    options.o.mkdir(parents=True, exist_ok=True)
    well = True
    for name in options.only or PARTS:
        part = run_apart(name, options.device, options.quick, options.o)
        print(*lines(name, part), sep="\n", flush=True)
        well = well and not part.failed and all(row.reached is not False for row in part.rows)
    return 0 if well else 1


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m benchmarks.gpu")
    made.add_argument("-o", type=Path, default=Path("gpu"), help="the folder to send back")
    made.add_argument("--only", nargs="+", choices=PARTS, help="some parts")
    made.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    made.add_argument("--quick", action="store_true", help="one step of each, to try the command")
    made.add_argument("--here", choices=PARTS | WITHIN, help=argparse.SUPPRESS)
    return made
