"""Commands given in a child of a process without threads, as the shell gives them."""

import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main
from command import train_here

from anynet_study.cli import main
from anynet_study.cli.app import app

#: Bytes of address space that a command may take: no fault of one is the machine's.
ADDRESSES = 8 << 30


#: What commands that do not train import, from the first or as they go.
ROOMS = ("cli", "data", "store", "engine.planning", "analysis.analyses", "analysis.report")
LATE = ("duckdb", "pyarrow.dataset", "scipy.stats")


def lines_of(script: str, *arguments: object, **environment: str) -> list[dict[str, Any]]:
    """What a harness beside this file says, a line of JSON a case, run in a process of its own."""
    here = Path(__file__).parent
    paths = os.pathsep.join(map(str, (here.parent, here, here / "store")))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", here / script, *map(str, arguments)],
        env=os.environ
        | {"PYTHONPATH": paths, "ANYNET_DATA": "data", "COLUMNS": "200"}
        | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def preload() -> None:
    """Import what commands import, and build them all: a child does not, for most of its time."""
    for room in ROOMS:
        package = importlib.import_module(f"anynet_study.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(app)
    gc.freeze()  # or the first collection of each child copies all memory


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    #: Its exit code, or minus the signal that ended it.
    code: int
    said: str
    #: Seconds of a core.
    seconds: float
    #: Most bytes in memory, those of the parent among them.
    memory: int


def typed(line: str, begin: Callable[[], None] = lambda: None) -> Ended:
    """Give a command in a child, which calls `begin` first."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        _command(line, begin)
    os.close(writer)
    with os.fdopen(reader, errors="replace") as pipe:
        said = pipe.read()
    _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    return Ended(os.waitstatus_to_exitcode(status), said, seconds, used.ru_maxrss << 10)


def prepare(*lines: str) -> None:
    """Give commands that have to succeed; without workers, which take far longer."""
    with patch("anynet_study.engine.stages.train_all", train_here):
        for line in lines:
            ended = typed(line)
            assert ended.code == 0, (line, ended.said)


def _command(line: str, begin: Callable[[], None]) -> None:
    """The child: never returns."""
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["anynet-study", *line.split()]
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        begin()
        main()
    except SystemExit as ended:
        code = int(ended.code or 0) if not isinstance(ended.code, str) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)
