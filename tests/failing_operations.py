"""Whole commands whose n-th change or read of a file fails, or at which they are killed.

A script, so that it forks a process without threads, with `failing_operations.c` preloaded:
`failing_operations.py LIBRARY FOLDER TRIALS SEED [CASE ...]`. A trial makes one command meet one
fault, looks at what it leaves, and gives the same command again, which must end as if nothing had
been. Prints a line of JSON for each case. Cases of FULL have no faults made up: they are given on a
file system in memory that has few pages left, which only root can mount.
"""

import ctypes
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from forked import Ended, preload, prepare, typed
from tiny_study import TINY, images

from anynet_study import ResultStore
from anynet_study.data import load_dataset

#: Hidden files that are meant to be there.
KEPT = (".lock", ".made_from")
#: Words of an answer that goes on without what it could not read.
TOLD = re.compile("Input/output error|cannot be read|damaged")
#: What should name the file, and not the number of the error.
BARE = re.compile(
    r"\[Errno|^error: (Input/output error|No space left on device|Disk quota exceeded)$", re.M
)
COUNT, KILL, ONCE, FROM_THERE, COUNT_READS, READ_ONCE, READS_FROM_THERE, QUOTA, PAGES_LEFT = range(
    9
)
#: Of Linux: mounts that this process makes, nobody else sees.
NEW_MOUNTS = 0x20000
PAGE = 4096
State = dict[str, str]


def files_in(name: str) -> Callable[[], State]:
    """The content of all files of a folder, hidden ones and stamps of checks left out."""

    def state() -> State:
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in Path(name).glob("[!.]*")
            if path.name not in ("checked.json", "digests.json")
        }

    return state


def dataset(name: str) -> Callable[[], State]:
    """The content of a packed dataset; its digests are right where it is there."""

    def state() -> State:
        found = files_in(f"data/{name}")()
        if found:
            load_dataset(name, whole=True)
        return found

    return state


def page(path: str) -> Callable[[], State]:
    """Whether a page that is there is whole: it tells the time at which it was made."""

    def state() -> State:
        if not Path(path).exists():
            return {}
        return {"whole": str(Path(path).read_text().rstrip().endswith("</html>"))}

    return state


def runs_in(name: str) -> Callable[[], State]:
    """What a results store says of its runs, whatever else of it depends on the clock."""

    def state() -> State:
        if not Path(name).exists():
            return {}
        with ResultStore(name) as store:
            return {"runs": store.runs().to_csv(), "errors": store.errors().to_csv()}

    return state


def nothing() -> State:
    """Of a command that only answers."""
    return {}


@dataclass(frozen=True)
class Case:
    """A command, what it changes as users see it, and a file that is removed before it."""

    command: str
    state: Callable[[], State]
    without: str = ""


IMPORT = "import {} -o imported.h5 --source d0 --error --percent"
LABEL = "data label captions.csv --terms terms.csv --strategy single"
PILOT = "pilot tiny.yaml --architectures 2 --lr 0.1 --length 1"
STORE, PILOTS = "studies/tiny/results.h5", "studies/tiny-pilot/results.h5"
CASES = {
    "data add": Case("data add pets --from first --size 8", dataset("pets")),
    "data add --force": Case("data add cats --from second --size 8 --force", dataset("cats")),
    "data captions": Case("data captions cats captions.csv", dataset("cats")),
    "import": Case(IMPORT.format("other.csv"), runs_in("imported.h5")),
    "export": Case("export imported.h5 -o new-release", files_in("new-release")),
    "export over another": Case("export tiny -o release", files_in("release")),
    "collect": Case("collect tiny", runs_in(STORE), without=STORE),
    "report": Case("report tiny --resamples 100", page("studies/tiny/report/report.html")),
    "data folds": Case("data folds cats --count 3 -o folds", files_in("folds")),
    "analyze": Case("analyze tiny --resamples 100 -o tables", files_in("tables")),
    "plot": Case("plot tiny --figure heatmap,source -o figures --format svg", files_in("figures")),
    "data label": Case(f"{LABEL} -o labels/labels.csv", files_in("labels")),
    "data label --add": Case(f"{LABEL} --from cats --add labelled --force", dataset("labelled")),
    "pilot": Case(PILOT, runs_in(PILOTS), without=PILOTS),
    "collect --restore": Case("collect tiny --restore", runs_in(STORE)),
}
#: Commands of which reads fail: their answer is the same, or they say that they cannot read.
ANSWERS = {
    "answer of analyze": Case("analyze lone.h5 --resamples 100", nothing),
    "answer of compare": Case("compare lone.h5 --resamples 100", nothing),
    "answer of query": Case("query lone.h5 --format csv", nothing),
    "answer of verify": Case("verify tiny", nothing),
    "answer of status": Case("status tiny --json", nothing),
    "answer of a dry run": Case("run tiny.yaml --dry-run", nothing),
    "answer of list": Case("list --json", nothing),
    "answer of export": Case("export lone.h5 -o new-release", files_in("new-release")),
    "answer of import": Case("import release -o new.h5", runs_in("new.h5")),
    "answer of collect": Case("collect tiny", runs_in(STORE)),
    "answer of data add": Case("data add pets --from first --size 8", dataset("pets")),
    "answer of data add, a zip": Case("data add pets --from first.zip --size 8", dataset("pets")),
    "answer of captions": Case("data captions cats captions.csv", dataset("cats")),
    "answer of folds": Case("data folds cats --count 3 -o new-folds", files_in("new-folds")),
    "answer of label": Case(f"{LABEL} --from cats --add labelled", dataset("labelled")),
    "answer of pilot": Case(PILOT, runs_in(PILOTS)),
    "answer of report": Case("report lone.h5 --resamples 100 -o page", page("page/report.html")),
}
#: The same on a file system that is full.
FULL = {f"full: {name}": case for name, case in CASES.items()}


def table(path: str, shift: int) -> None:
    errors = {f"d{n}": [10.0 + 3 * m + n * n + shift for m in range(6)] for n in range(3)}
    pd.DataFrame({"model": [f"m{m}" for m in range(6)], **errors}).to_csv(path, index=False)


def make_template(folder: Path) -> None:
    """All that the commands start from."""
    folder.mkdir()
    os.chdir(folder)
    images(Path("first"), {"cat": 6, "dog": 6})
    shutil.make_archive("first", "zip", "first")
    images(Path("second"), {"cat": 8, "dog": 7, "fox": 6})
    table("one.csv", 0)
    table("other.csv", 1)
    Path("tiny.yaml").write_text(TINY)
    prepare(
        "data add cats --from first --size 8",
        IMPORT.format("one.csv"),
        "export imported.h5 -o release",
        "run tiny.yaml --resamples 100",
        PILOT,
        "data folds cats --count 4 --seed 4 -o folds",
        "analyze one.csv --error --percent --resamples 100 -o tables",
        "plot one.csv --error --percent --figure heatmap,matrix -o figures --format svg",
    )
    shutil.copy(STORE, "lone.h5")
    names = pd.read_csv("data/cats/split.csv")["image"]
    pets = [f"a pet, a {name.partition('/')[0]}" for name in names]
    pd.DataFrame({"image": names, "caption": pets}).to_csv("captions.csv", index=False)
    terms = {"class": ["first", "second"], "term": ["cat", "dog"]}
    pd.DataFrame(terms).to_csv("terms.csv", index=False)


def litter(folder: Path) -> list[str]:
    """Hidden files and folders that a command should have removed."""
    return [str(path) for path in folder.rglob(".*") if path.name not in KEPT]


@dataclass
class Trials:
    """Faults met by a command, and what they should not have done."""

    operations: int = 0
    kills: int = 0
    failures: int = 0
    #: What users saw is neither what was there before nor what the command makes.
    lost: int = 0
    #: The same command, given again, failed or made something else.
    wrong: int = 0
    litter: int = 0
    traceback: int = 0
    #: A message has the number of an error of the system, or names no file.
    bare: int = 0
    #: A read failed, and the answer is another, without a word.
    silent: int = 0
    examples: list[str] | None = None


class Harness:
    """Tries faults on commands, each in a fresh copy of the template."""

    def __init__(self, library: str, root: Path) -> None:
        self.shim, self.root, self.work = ctypes.CDLL(library), root, root / "work"
        preload()
        make_template(root / "template")

    def mount(self) -> None:
        """From now on commands are given on a file system in memory. Raises OSError."""
        if ctypes.CDLL(None, use_errno=True).unshare(NEW_MOUNTS):
            raise OSError(ctypes.get_errno(), "no mounts of its own for this process")
        self.work = self.root / "mounted"
        self.work.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(self.work)]
        for command in (["mount", "--make-rprivate", "/"], mount):
            subprocess.run(command, check=True)

    def fresh(self, case: Case) -> None:
        os.chdir(self.root)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.root / "template", self.work, symlinks=True, dirs_exist_ok=True)
        os.chdir(self.work)
        if case.without:
            Path(case.without).unlink()

    def operations_of(self, case: Case, mode: int = COUNT) -> int:
        """How many operations the command does that change files, or that read them."""
        reader, writer = os.pipe()

        def count() -> None:
            self.shim.arm(-1, mode)
            leave = os._exit

            def tell_and_leave(code: int) -> None:
                os.write(writer, str(self.shim.counted()).encode())
                leave(code)

            os._exit = tell_and_leave  # type: ignore[assignment]

        ended = typed(case.command, count)
        assert ended.code == 0, ended.said
        os.close(writer)
        with os.fdopen(reader) as pipe:
            return int(pipe.read())

    def trial(self, case: Case, n: int, mode: int, states: tuple[State, State]) -> dict[str, str]:
        """The faults of one trial, by kind, with what was seen."""
        self.fresh(case)
        if mode == PAGES_LEFT:
            fill(n)
            met = typed(case.command)
            Path("filler").unlink()
        else:
            met = typed(case.command, lambda: self.shim.arm(n, mode))
        found = said_badly(met) if mode != KILL else {}
        if case.state() not in states:
            found["lost"] = met.said[-300:]
        again = typed(case.command)
        there = case.command.startswith("data add pets") and "exists" in again.said
        if (again.code != 0 and not there) or case.state() != states[1]:
            found["wrong"] = f"{again.code} {again.said[-300:]}"
        if left := litter(self.work):
            found["litter"] = str(left[:3])
        return found

    def run_full(self, case: Case, trials: int, moments: random.Random) -> Trials:
        """Let commands meet a file system with some pages left, from none to what they need."""
        self.fresh(case)
        before, free = case.state(), shutil.disk_usage(".").free
        assert typed(case.command).code == 0
        result, states = Trials(examples=[]), (before, case.state())
        result.operations = max(8, (free - shutil.disk_usage(".").free) // PAGE)
        for _ in range(trials):
            pages = round(result.operations ** moments.random()) - 1
            result.failures += 1
            for kind, seen in self.trial(case, pages, PAGES_LEFT, states).items():
                setattr(result, kind, getattr(result, kind) + 1)
                result.examples.append(f"{kind} with {pages} of {result.operations} pages: {seen}")
        return result

    def run(self, case: Case, trials: int, moments: random.Random) -> Trials:
        result = Trials(examples=[])
        self.fresh(case)
        before = case.state()
        result.operations = self.operations_of(case)
        states = before, case.state()
        for trial in range(trials):
            # The last one tidies: all is done, and the same command may refuse to do it again.
            n = moments.randint(1, result.operations) if trial else result.operations
            mode = moments.choice([KILL, ONCE, FROM_THERE, QUOTA])
            result.kills += mode == KILL
            result.failures += mode != KILL
            for kind, seen in self.trial(case, n, mode, states).items():
                setattr(result, kind, getattr(result, kind) + 1)
                result.examples.append(f"{kind} at {n} of {result.operations}, mode {mode}: {seen}")
        return result

    def answer(
        self, case: Case, n: int, mode: int, before: State, truth: tuple[str, State]
    ) -> dict[str, str]:
        """The faults of one trial in which reads fail."""
        if case.state is not nothing:
            self.fresh(case)
        met = typed(case.command, lambda: self.shim.arm(n, mode))
        found, same = said_badly(met), (plain(met.said), case.state()) == truth
        if met.code == 0 and not same and not TOLD.search(met.said):
            found["silent"] = met.said[-300:]
        if case.state is not nothing and met.code and case.state() not in (before, truth[1]):
            found["lost"] = met.said[-300:]
        return found

    def run_reads(self, case: Case, trials: int, moments: random.Random) -> Trials:
        result = Trials(examples=[])
        self.fresh(case)
        before = case.state()
        result.operations = self.operations_of(case, COUNT_READS)
        self.fresh(case)
        truth = plain(typed(case.command).said), case.state()
        for _ in range(trials):
            n = moments.randint(1, result.operations)
            mode = moments.choice([READ_ONCE, READ_ONCE, READS_FROM_THERE])
            result.failures += 1
            for kind, seen in self.answer(case, n, mode, before, truth).items():
                setattr(result, kind, getattr(result, kind) + 1)
                result.examples.append(f"{kind} at {n} of {result.operations}, mode {mode}: {seen}")
        return result


def fill(pages: int) -> None:
    """Leave so many pages free on the file system of the current folder, or a few less."""
    with Path("filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(".").free - pages * PAGE))


def said_badly(ended: Ended) -> dict[str, str]:
    """What is wrong with how a command says that it failed, by kind."""
    if "Traceback" in ended.said or ended.code not in (0, 1, 2):
        return {"traceback": f"{ended.code} {ended.said[-600:]}"}
    return {"bare": ended.said[-400:]} if BARE.search(ended.said) else {}


def plain(said: str) -> str:
    """What a command said, without progress and times."""
    lines = (
        line for line in said.splitlines() if not re.match(r"(checking|packing|reading) ", line)
    )
    return re.sub(r"\d+(\.\d+)?e?-?\d* ?(s|min|h)\b", "TIME", "\n".join(lines))


if __name__ == "__main__":
    library, place, trials, seed = sys.argv[1:5]
    harness, moments = Harness(library, Path(place).resolve()), random.Random(int(seed))
    names = sys.argv[5:] or [*CASES, *ANSWERS]
    if names[0] in FULL:
        harness.mount()
    for name in names:
        if name in CASES:
            found = harness.run(CASES[name], int(trials), moments)
        elif name in ANSWERS:
            found = harness.run_reads(ANSWERS[name], int(trials), moments)
        else:
            found = harness.run_full(FULL[name], int(trials), moments)
        print(json.dumps({"case": name, **vars(found)}), flush=True)
