"""Damaged stores: prints, as JSON, what came of each.

A script, so that a crash, a hang or unbounded memory is that of its process:
`fuzz.py FOLDER COUNT`.
"""

import json
import os
import random
import resource
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from evaluation_factory import evaluation, write_evaluations
from honest import honest, honest_study

from anynet_study.errors import UserError
from anynet_study.store import ResultStore
from anynet_study.store.integrity import verify

#: Bytes of address space that reading a file of a few hundred kB may take.
MEMORY = 6 << 30
RUNS = 24


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


def contents(store: ResultStore) -> list[bytes]:
    """All numbers that analyses begin with; not the run ids, whose hash `verify` compares."""
    runs = store.runs(["dataset", "architecture", "error", "status", "epochs"])
    curves = store.curves().drop(columns=["run_id", "architecture", "dataset", "recipe"])
    parts = [runs.to_csv().encode(), store.errors().to_csv().encode()]
    parts.append(np.ascontiguousarray(curves.to_numpy(np.float64)).tobytes())
    parts.append(store.architectures().to_csv().encode())
    parts.append(np.asarray(store.predictions("digits")[1]).tobytes())
    evaluations = store.evaluations().drop(columns=["run_id", "evaluation_id"])
    predicted = np.asarray(store.evaluation_predictions("digits", "blur")[1])
    return [*parts, evaluations.to_csv().encode(), predicted.tobytes()]


def fuzz_stores(folder: Path, data: bytes, count: int, moments: random.Random) -> Counter[str]:
    """A damaged store is refused, or gives the numbers it gave; `verify` says what is wrong."""
    path, outcomes = folder / "fuzzed.h5", Counter[str]()
    path.write_bytes(data)
    truth, fine = contents(ResultStore(path)), verify(path)
    for _ in range(count):
        path.write_bytes(damaged(data, moments))
        try:
            same = contents(ResultStore(path)) == truth
            outcomes["same" if same else "other numbers"] += 1
        except UserError:
            same = False
            outcomes["refused"] += 1
        try:
            found = verify(path) != fine
        except UserError:
            found = True
        outcomes["found" if found else "not found"] += 1
        outcomes["not found, other numbers"] += not found and not same
    return outcomes


def new_store(folder: Path) -> bytes:
    some = [evaluation(number, run_id=honest(number).run_id) for number in range(RUNS)]
    write_evaluations(folder / "journals" / "x.evaluations.arrow", some)
    return honest_study(folder, [honest(number) for number in range(RUNS)]).read_bytes()


if __name__ == "__main__":
    os.fsync = lambda handle: None  # nothing here is worth waiting for the disk
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    place = Path(sys.argv[1])
    print(json.dumps(fuzz_stores(place, new_store(place), int(sys.argv[2]), random.Random(1))))
