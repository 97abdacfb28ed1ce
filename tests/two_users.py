"""A study that two users of one group write to, of whom the second lets nobody read what he writes.

A script, as `failing_operations.py`, for root: `two_users.py FOLDER`. Gives commands as the one and
the other, and prints a line of JSON for each: who gave it, its exit code, and what it said.
"""

import importlib.readers  # noqa: F401  # as users who may not read this Python cannot
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from forked import preload, prepare, typed
from tiny_study import TINY

from anynet_study.store import JournalWriter, RunRecord, read_journal

GROUP = 59_000
#: User id and umask.
USERS = {"ann": (59_001, 0o002), "bob": (59_002, 0o077)}
STUDY = Path("studies/tiny")
OF_BOB = STUDY / "journals" / "bob-1-1.arrow"


def become(user: str) -> None:
    number, mask = USERS[user]
    os.setgroups([])
    os.setgid(GROUP)
    os.setuid(number)
    os.umask(mask)


def give(user: str, command: str) -> None:
    ended = typed(command, lambda: become(user))
    line = {"user": user, "command": command.split()[0], "code": ended.code, "said": ended.said}
    print(json.dumps(line), flush=True)


def given_to_ann() -> None:
    """All that is there, as her umask would have made it."""
    for path in [Path(), *Path().rglob("*")]:
        os.chown(path, USERS["ann"][0], GROUP)
        path.chmod(0o2775 if path.is_dir() else 0o664)


def as_bob(write: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        become("bob")
        write()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def write_of_bob(records: Sequence[RunRecord]) -> None:
    """What a worker of his would have recorded."""
    with JournalWriter(OF_BOB) as journal:
        for record in records:
            journal.append(record)


if __name__ == "__main__":
    preload()
    os.chdir(sys.argv[1])
    Path("tiny.yaml").write_text(TINY)
    prepare("run tiny.yaml --resamples 100")
    (one,) = (STUDY / "journals").iterdir()
    records = read_journal(one).records
    one.unlink()
    with JournalWriter(one) as journal:
        for record in records[:8]:
            journal.append(record)
    (STUDY / "results.h5").unlink()
    given_to_ann()
    as_bob(lambda: write_of_bob(records[8:]))
    for command in ("status tiny", "run tiny.yaml --dry-run", "run tiny.yaml", "collect tiny"):
        give("ann", command)
    give("bob", "collect tiny")
    give("ann", "analyze studies/tiny/results.h5")
    give("ann", "verify tiny")
    OF_BOB.chmod(0o640)
    (STUDY / "results.h5").chmod(0o640)
    give("ann", "collect tiny")
    give("ann", "verify tiny")
