"""Whole commands that are given what is damaged, or made to harm.

A script, as `failing_operations.py`: `hostile_inputs.py FOLDER TRIALS SEED [CASE ...]`. A trial
changes one file that a command reads, and gives the command: it may refuse, find fault, or go on,
but in bounded time and memory, and without a traceback. The case "exchanged" exchanges two files
of one kind, each of them whole: `verify` says so, or the results are what they were. Prints a line
of JSON for each case.
"""

import hashlib
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from forked import Ended, preload, prepare, typed
from tiny_study import TINY, images

from anynet_study.core.errors import UserError
from anynet_study.store import (
    EvaluationWriter,
    JournalWriter,
    ResultStore,
    read_evaluations,
    read_journal,
    stores_equal,
)

#: A command may take so long and so much: seconds of a core, and bytes beside those of its parent.
SECONDS, MEMORY = 30.0, 1 << 30
SWEEP = TINY + "evaluations: {blur: {transform: blur}}\nlaunch: {keep: weights, scores: true}\n"
Change = Callable[[bytes, random.Random], bytes]

#: In the place of a word or number of a text.
WORDS = [
    *("", "null", "[]", "{}", "true", "nan", "-1", "0", "1e400", "-0.0", "9" * 30, "1" * 5000),
    *("x" * 100_000, "[" * 3000, "{a: " * 500, "../../../etc/passwd", "\0", "\ud7ff", "é" * 300),
    *("!!python/object/apply:os.system [x]", "&a [*a, *a]", "'", '"', ",,,", ";", "=1+1", "0x10"),
]


def damaged(data: bytes, moments: random.Random) -> bytes:
    """The same file with flipped bits, other bytes, a piece lost, doubled, or moved."""
    changed = bytearray(data)
    for _ in range(moments.choice([1, 1, 1, 2, 5])):
        what = moments.choice(["bit", "bit", "bytes", "zeros", "ones", "cut", "lost", "twice"])
        place = moments.randrange(max(1, len(changed)))
        length = int(2 ** moments.uniform(0, 12))
        if what == "bit" and changed:
            changed[place] ^= 1 << moments.randrange(8)
        elif what == "bytes":
            changed[place : place + length] = moments.randbytes(length)
        elif what in ("zeros", "ones"):
            fill = b"\0" if what == "zeros" else b"\xff"
            changed[place : place + length] = fill * min(length, len(changed) - place)
        elif what == "cut":
            del changed[place:]
        elif what == "lost":
            del changed[place : place + length]
        elif what == "twice":
            changed[place:place] = changed[place : place + length]
    return bytes(changed)


def words(text: bytes, moments: random.Random) -> bytes:
    """The same text with some of its words exchanged for others, or for those of another line."""
    parts = re.split(rb"(\w[\w.\-]*)", text)
    for _ in range(moments.choice([1, 1, 2, 4])):
        place = moments.randrange(1, max(2, len(parts) - 1), 2) if len(parts) > 2 else 0
        other = moments.choice(WORDS).encode(errors="replace")
        parts[place] = moments.choice([other, other, moments.choice(parts)])
    return b"".join(parts)


def arrays(moments: random.Random, old: np.ndarray) -> np.ndarray:
    """An array in the place of another: of another type, shape, length or range."""
    size = old.size
    return moments.choice(
        [
            lambda: np.zeros((), old.dtype),
            lambda: np.zeros(0, old.dtype),
            lambda: np.concatenate([old.ravel(), old.ravel()]),
            lambda: old.ravel()[: size // 2],
            lambda: old.ravel()[::-1],
            lambda: old.reshape(*old.shape, 1),
            lambda: np.full(old.shape, -1),
            lambda: np.full(old.shape, np.nan),
            lambda: np.full(old.shape, 2**62),
            lambda: np.full(old.shape, np.inf, np.float16),
            lambda: np.full(old.shape, b"x" * 40),
            lambda: np.zeros(old.shape, np.complex64),
        ]
    )()


def hdf5(content: bytes, moments: random.Random) -> bytes:
    """A store in which some arrays and attributes are others, gone, or folders in each other."""
    buffer = io.BytesIO(content)
    with h5py.File(buffer, "r+") as file:
        places: list[str] = []
        file.visit(places.append)
        for place in moments.sample(places, moments.choice([1, 1, 2, 3])):
            if place not in file:
                continue
            what, kind = file[place], moments.randrange(10)
            if kind < 6 and isinstance(what, h5py.Dataset):
                try:
                    new = arrays(moments, np.asarray(what[()]))
                except (TypeError, ValueError):
                    new = np.zeros(3)
                del file[place]
                file[place] = new
            elif kind < 8 and len(what.attrs):
                name = moments.choice(sorted(what.attrs))
                what.attrs[name] = moments.choice([np.int64(-1), "x" * 300, np.zeros(9), np.nan])
            elif kind < 9:
                del file[place]
            else:
                del file[place]
                file[place + "/a" * moments.choice([1, 50])] = np.zeros(2)
    return buffer.getvalue()


def columns(table: pa.Table, moments: random.Random) -> pa.Table:
    """A table of which some columns are others, gone or doubled, or with other rows."""
    for _ in range(moments.choice([1, 1, 2])):
        place = moments.randrange(table.num_columns)
        name, rows = table.column_names[place], len(table)
        new = moments.choice(
            [
                pa.nulls(rows),
                pa.array([-1] * rows),
                pa.array([2**62] * rows),
                pa.array([float("nan")] * rows),
                pa.array([""] * rows),
                pa.array(["x" * 100_000] * rows).dictionary_encode(),
                pa.array([[1.0] * 5] * rows),
                pa.array([{"a": 1}] * rows),
                pa.array([b"\xff\xfe"] * rows),
                None,
            ]
        )
        if new is None:
            table = moments.choice([table.remove_column(place), table.slice(1), table.slice(0, 0)])
        else:
            table = table.set_column(place, name, new)
        if not table.num_columns:
            break
    return table


def parquet(content: bytes, moments: random.Random) -> bytes:
    sink = io.BytesIO()
    pq.write_table(columns(pq.read_table(io.BytesIO(content)), moments), sink)
    return sink.getvalue()


def journal(content: bytes, moments: random.Random) -> bytes:
    sink = io.BytesIO()
    table = columns(pa.ipc.open_stream(content).read_all(), moments)
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def numpy(content: bytes, moments: random.Random) -> bytes:
    """An archive of arrays of which one is another; or one that says that it is huge."""
    with np.load(io.BytesIO(content)) as read:
        members = dict(read)
    name = moments.choice(sorted(members))
    sink = io.BytesIO()
    if moments.random() < 0.3:
        huge = {"descr": "|u1", "fortran_order": False, "shape": (1 << 40, 32, 32, 3)}
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, huge)
        np.savez(sink, **{one: array for one, array in members.items() if one != name})
        with zipfile.ZipFile(sink, "a") as archive:
            archive.writestr(f"{name}.npy", head.getvalue() + bytes(1000))
    else:
        np.savez(sink, **(members | {name: arrays(moments, members[name])}))
    return sink.getvalue()


@dataclass(frozen=True)
class Case:
    """A command, the file that it reads, and how that is changed."""

    command: str
    file: str
    changes: tuple[Change, ...]


STORE, POPULATION = "studies/tiny/results.h5", "studies/tiny/population.parquet"
#: Files of a study, of its data, or of its release, that hold results or what they are made of.
KEPT = re.compile(r"^(data|release|studies/tiny/(journals|datasets|weights|scores))/")
#: The same, and what else an answer rests on.
EDITED = re.compile(
    r"^(data|release|studies/tiny/(journals|datasets|scores))/"
    r"|^studies/tiny/(population.parquet|results.h5)$"
)
ADD = "data add new --size 8 --from {}"
CASES: dict[str, Case | None] = {
    "exchanged": None,
    "edited": None,
    "a sweep file": Case("launch tiny.yaml --dry-run", "tiny.yaml", (words, words, damaged)),
    "a sweep file's population": Case("sample tiny.yaml", "tiny.yaml", (words, words, damaged)),
    "the study's sweep file": Case("collect tiny", "studies/tiny/sweep.yaml", (words, damaged)),
    "what was launched": Case("verify tiny", "studies/tiny/launched.yaml", (words, damaged)),
    "a population": Case("collect tiny --anew", POPULATION, (parquet, damaged)),
    "a journal": Case("collect tiny --anew", "JOURNAL", (journal, damaged)),
    "evaluations": Case("collect tiny --anew", "EVALUATIONS", (journal, damaged)),
    "a store, verified": Case("verify tiny", STORE, (hdf5, damaged)),
    "a store, queried": Case("query lone.h5 --columns error", "lone.h5", (hdf5, damaged)),
    "a store, analyzed": Case("analyze lone.h5 --as-is", "lone.h5", (hdf5, damaged)),
    "a store, exported": Case("export lone.h5 -o new", "lone.h5", (hdf5, damaged)),
    "a release's tables": Case("import release -o new.h5", "release/schema.json", (words, damaged)),
    "sums": Case("verify release", "release/SHA256SUMS", (words, damaged)),
    "a table": Case(
        "import one.csv -o new.h5 --source d0 --error --percent", "one.csv", (words, damaged)
    ),
    "a table, analyzed": Case("analyze one.csv --error --percent", "one.csv", (words, damaged)),
    "a Parquet table": Case(
        "import one.parquet -o new.h5 --source d0 --error --percent",
        "one.parquet",
        (parquet, damaged),
    ),
    "a zip": Case(ADD.format("images.zip"), "images.zip", (damaged,)),
    "a tar": Case(ADD.format("images.tar.gz"), "images.tar.gz", (damaged,)),
    "npz": Case(ADD.format("images.npz"), "images.npz", (numpy, numpy, damaged)),
    "mat": Case(ADD.format("images.mat"), "images.mat", (damaged,)),
    "Parquet of images": Case(
        ADD.format("images.parquet"), "images.parquet", (parquet, parquet, damaged)
    ),
    "a table of images": Case(ADD.format("listed"), "listed/labels.csv", (words, damaged)),
    "captions": Case("data captions cats captions.csv", "captions.csv", (words, damaged)),
    "a packed dataset": Case("data info cats --verify", "data/cats/meta.json", (words, damaged)),
}


def make_template(folder: Path) -> None:
    """All that the commands start from."""
    folder.mkdir()
    os.chdir(folder)
    random_ = np.random.default_rng(0)
    images(Path("first"), {"cat": 12, "dog": 12})
    images(Path("listed/images"), {"cat": 12, "dog": 12})
    listed = [path.relative_to("listed") for path in sorted(Path("listed").rglob("*.png"))]
    table = pd.DataFrame({"image": map(str, listed), "label": [p.parent.name for p in listed]})
    table.to_csv("listed/labels.csv", index=False)
    shutil.make_archive("images", "zip", "first")
    shutil.make_archive("images", "gztar", "first")
    pixels, labels = random_.integers(0, 256, (40, 8, 8, 3), np.uint8), np.arange(40) % 2
    split = {"train_images": pixels[:30], "train_labels": labels[:30]}
    np.savez("images.npz", **split, test_images=pixels[30:], test_labels=labels[30:])
    scipy.io.savemat("images.mat", {"X": pixels.transpose(1, 2, 3, 0), "y": labels[:, None]})
    content = [path.read_bytes() for path in sorted(Path("first").rglob("*.png"))]
    cells = [{"bytes": one, "path": None} for one in content]
    pq.write_table(pa.table({"image": cells, "label": [0] * 12 + [1] * 12}), "images.parquet")
    errors = pd.DataFrame({f"d{n}": [10.0 + 3 * m + n * n for m in range(8)] for n in range(3)})
    errors.insert(0, "model", [f"m{m}" for m in range(8)])
    errors.to_csv("one.csv", index=False)
    errors.to_parquet("one.parquet")
    Path("tiny.yaml").write_text(SWEEP)
    prepare(
        "data add cats --from first --size 8",
        "run tiny.yaml --resamples 100",
        "export tiny -o release",
    )
    shutil.copy(STORE, "lone.h5")
    names = pd.read_csv("data/cats/split.csv")["image"]
    pd.DataFrame({"image": names, "caption": "a pet"}).to_csv("captions.csv", index=False)


def alike(one: Path, other: Path) -> bool:
    """Whether one of two files could be taken for the other, and is not the same."""
    same = one.suffix == other.suffix and (one.name == other.name or one.parent == other.parent)
    return same and one.read_bytes() != other.read_bytes()


def scores_of(store: ResultStore) -> dict[str, bytes]:
    """What networks said of their test images, by run."""
    return {run: store.scores(run).tobytes() for run in store.runs()["run_id"]}


#: How a command says that something is not as it was.
TOLD = re.compile("damaged|is not what|ignored|is gone|differs|twice|altered|in no journal|lacks")
ANSWER = ["run_id", "architecture", "dataset", "status", "error", "flops"]
Edit = Callable[[bytes, random.Random], bytes | None]


def edits_of(path: Path) -> list[tuple[str, Edit]]:
    """Ways to change a file of its kind, by name; None: it is gone."""
    ways: list[tuple[str, Edit]] = [
        ("bytes", damaged),
        ("bytes", damaged),
        ("zeros", lambda content, moments: bytes(len(content))),
        ("gone", lambda content, moments: None),
        ("empty", lambda content, moments: b""),
    ]
    if path.suffix == ".parquet":
        ways += [("saved again", saved_again), ("rows reversed", reversed_rows)]
    if path.suffix == ".arrow":
        ways += [("recorded twice", recorded_twice), ("recorded twice", recorded_twice)]
    if path.suffix == ".h5":
        ways.append(("arrays", hdf5))
    return ways


def saved_again(content: bytes, moments: random.Random) -> bytes:
    """By pandas, which leaves out what else the file says."""
    sink = io.BytesIO()
    pd.read_parquet(io.BytesIO(content)).to_parquet(sink)
    return sink.getvalue()


def reversed_rows(content: bytes, moments: random.Random) -> bytes:
    table, sink = pq.read_table(io.BytesIO(content)), io.BytesIO()
    pq.write_table(table.take(list(range(len(table)))[::-1]), sink)
    return sink.getvalue()


def recorded_twice(content: bytes, moments: random.Random) -> bytes:
    """Records once more with other errors, as they would be if they had begun earlier."""
    with tempfile.TemporaryDirectory() as name:
        for kind, suffix in ((EvaluationWriter, ".evaluations.arrow"), (JournalWriter, ".arrow")):
            old, new = Path(name, f"old{suffix}"), Path(name, f"new{suffix}")
            old.write_bytes(content)
            read = read_evaluations if kind is EvaluationWriter else read_journal
            try:
                records = read(old).records
            except UserError:  # of the other kind
                continue
            with kind(new) as journal:
                for record in records:
                    off = {"error": max(0.0, record.error - 7), "started": record.started - 100}
                    off |= {"top1": off["error"]} if kind is EvaluationWriter else {}
                    journal.append(record)
                    journal.append(replace(record, **off))
            return new.read_bytes()
    raise AssertionError("no journal")


def sums_again(release: Path) -> None:
    """As anybody can make them."""
    files = sorted(path for path in release.iterdir() if path.name != "SHA256SUMS")
    sums = (f"{hashlib.sha256(it.read_bytes()).hexdigest()}  {it.name}\n" for it in files)
    (release / "SHA256SUMS").write_text("".join(sums))


def contents() -> dict[str, str]:
    """What the study and its release say, by whatever reads it."""
    store = ResultStore(STORE)
    tables = {path.name: pd.read_parquet(path) for path in Path("release").glob("*.parquet")}
    found = {name: table.to_csv() for name, table in tables.items()}
    written = [it for it in Path("release").iterdir() if it.suffix in (".md", ".yaml")]
    found |= {it.name: it.read_text() for it in written}
    found |= {"errors": store.errors().to_csv(), "answer": store.runs(ANSWER).to_csv()}
    found["tests"] = store.evaluations(["run_id", "evaluation", "top1"]).to_csv()
    found["scores"] = str({run: hash(data) for run, data in scores_of(store).items()})
    return found | {"study": pd.read_parquet(POPULATION).to_csv()}


def fault_of(ended: Ended, parent: int) -> str:
    """What a command did that it must not; "" if nothing."""
    if "Traceback" in ended.said or ended.code not in (0, 1, 2):
        return f"code {ended.code}: {ended.said[-600:]}"
    if ended.seconds > SECONDS:
        return f"{ended.seconds:.0f} s: {ended.said[-200:]}"
    if ended.memory - parent > MEMORY:
        return f"{(ended.memory - parent) / 2**30:.1f} GiB: {ended.said[-200:]}"
    return ""


class Harness:
    """Gives commands hostile inputs, each in a fresh copy of the template."""

    def __init__(self, root: Path) -> None:
        self.root, self.work = root, root / "work"
        preload()
        make_template(root / "template")
        self.parent = typed("--version").memory
        self.fresh()
        self.truth = contents()

    def fresh(self) -> None:
        os.chdir(self.root)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.root / "template", self.work, symlinks=True)
        os.chdir(self.work)

    def trial(self, case: Case, moments: random.Random) -> tuple[int, str]:
        self.fresh()
        found = {"JOURNAL": "[!.]*[0-9].arrow", "EVALUATIONS": "*.evaluations.arrow"}
        path = Path(case.file)
        if case.file in found:
            path = min(Path("studies/tiny/journals").glob(found[case.file]))
        path.write_bytes(moments.choice(case.changes)(path.read_bytes(), moments))
        ended = typed(case.command)
        return ended.code, fault_of(ended, self.parent)

    def exchange(self, moments: random.Random) -> tuple[int, str]:
        """Two files of one name or one folder change places."""
        self.fresh()
        files = [path for path in Path().rglob("*") if path.is_file() and KEPT.search(str(path))]
        pairs: dict[Path, list[tuple[Path, Path]]] = {}
        for pair in combinations(sorted(files), 2):
            if alike(*pair):
                pairs.setdefault(pair[0].parent, []).append(pair)
        one, other = moments.choice(pairs[moments.choice(sorted(pairs))])
        for old, new in ((one, Path("x")), (other, one), (Path("x"), other)):
            old.rename(new)
        ended = [typed("verify tiny"), typed("verify release"), typed("collect tiny --anew")]
        faults = [fault for each in ended if (fault := fault_of(each, self.parent))]
        code = max(each.code for each in ended)
        truth, found = ResultStore(self.root / "template" / STORE), ResultStore(Path(STORE))
        if code == 0 and (stores_equal(truth, found) or scores_of(truth) != scores_of(found)):
            faults.append(f"without a word: {one} and {other}")
        return code, "; ".join(faults)

    def edit(self, moments: random.Random) -> tuple[int, str]:
        """One file is changed, of any kind; of a release the sums are made again at times."""
        self.fresh()
        files = [path for path in Path().rglob("*") if path.is_file() and EDITED.search(str(path))]
        kinds: dict[tuple[Path, str], list[Path]] = {}
        for path in sorted(path for path in files if path.name != "checked.json"):
            kinds.setdefault((path.parent, path.suffix), []).append(path)
        path = moments.choice(kinds[moments.choice(sorted(kinds))])
        name, change = moments.choice(edits_of(path))
        new = change(path.read_bytes(), moments)
        path.unlink()
        if new is not None:
            path.write_bytes(new)
        if path.parts[0] == "release" and path.name != "SHA256SUMS" and moments.random() < 0.5:
            sums_again(Path("release"))
        commands = ["verify tiny", "verify release", "status tiny", "analyze tiny --resamples 100"]
        ended = [typed(command) for command in commands]
        faults = [fault for each in ended if (fault := fault_of(each, self.parent))]
        told = any(each.code or TOLD.search(each.said) for each in ended)
        if not told and contents() != self.truth:
            faults.append(f"without a word: {path}, {name}")
        return max(each.code for each in ended), "; ".join(faults)

    def run(
        self, case: Case | None, trials: int, moments: random.Random, edits: bool = False
    ) -> dict[str, object]:
        """How often the command ended well, found fault, or refused, and what it must not do."""
        codes, faults = {0: 0, 1: 0, 2: 0}, []
        for _ in range(trials):
            if case is not None:
                code, fault = self.trial(case, moments)
            else:
                code, fault = (self.edit if edits else self.exchange)(moments)
            codes[code] = codes.get(code, 0) + 1
            faults += [fault] if fault else []
        return {"codes": codes, "faults": faults}


if __name__ == "__main__":
    place, trials, seed = sys.argv[1:4]
    harness = Harness(Path(place).resolve())
    for name in sys.argv[4:] or CASES:
        moments = random.Random(f"{seed} {name}")
        found = harness.run(CASES[name], int(trials), moments, edits=name == "edited")
        print(json.dumps({"case": name, **found}), flush=True)
