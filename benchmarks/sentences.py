"""How often the sentences of each analysis are wrong, and how often they answer, by simulation.

    python -m benchmarks.sentences                   (all rows, of 400 studies at most)
    python -m benchmarks.sentences --studies 2000    (hours of CPU)
    python -m benchmarks.sentences --only match      (the rows of an analysis)
    python -m benchmarks.sentences --missing         (those that were never measured)

It walks the worlds that analyses register beside each kind of claim that they say. A row is a world
at one place on the axes. `wrong`: studies in which one claim of the kind or more is wrong, whose
rate is nominally 5% at most; a row is *outside* where the whole exact 95% interval of the share is
above. A row ends after 80 studies, or after 200, where that interval is below 5% by then; one that
would be outside gets five times as many, since of hundreds of rows some look so by chance.
`answered`: the share of claims that are decided, and `right`, of all claims, those that are decided
and true; both are 0 where nothing is said. What is measured goes into the committed table, rows of
other worlds being kept.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from anynet_study.analysis.analyses import ANALYSES
from anynet_study.analysis.claims import Kind
from anynet_study.analysis.worlds import Setting, Told, World, said_of
from anynet_study.core.metrics import binomial_interval

TABLE = Path(__file__).parent / "results" / "sentences.csv"
KEYS = ["analysis", "kind", "world", "role", "setting"]
#: The largest share of studies that may have a wrong claim, in percent.
NOMINAL = 5.0
#: The numbers of studies after which a row that is below `NOMINAL` ends, and how many times as
#: many as others one has that would be outside.
LOOKS, AGAIN = (80, 200), 5


@dataclass(frozen=True)
class Row:
    """A world at one place on the axes, for one kind of claim of an analysis."""

    analysis: str
    kind: Kind
    world: World
    setting: Setting

    @property
    def keys(self) -> dict[str, str]:
        """What tells rows of the table apart."""
        told = (self.kind.name, self.world.name, self.world.role, str(self.setting))
        return dict(zip(KEYS, (self.analysis, *told), strict=True))


def rows() -> Iterator[Row]:
    """All that analyses register."""
    for name, analysis in ANALYSES.items():
        for kind, worlds in analysis.says.items():
            for world in worlds:
                yield from (Row(name, kind, world, setting) for setting in world.over)


def wrong_share(told: Sequence[Told]) -> tuple[float, float, float]:
    """The share of studies with a wrong claim and its exact 95% interval, in percent."""
    share = 100 * sum(bool(one.wrong) for one in told) / len(told)
    [low], [high] = binomial_interval([share], [len(told)])
    return share, float(low), float(high)


def measured(number: int, studies: int) -> dict[str, object]:
    """One row of the table, simulated."""
    row, start, told = [*rows()][number], time.process_time(), list[Told]()
    for many in (*(look for look in LOOKS if look < studies), studies, AGAIN * studies):
        for seed in range(len(told), many):
            told.append(said_of(ANALYSES, row.analysis, row.kind, row.world, row.setting, seed))
        share, low, high = wrong_share(told)
        if high < NOMINAL or (many == studies and low <= NOMINAL):
            break
    wrong = sum(bool(one.wrong) for one in told)
    claims, decided = sum(one.claims for one in told), sum(one.decided for one in told)
    right = decided - sum(one.wrong for one in told)
    return row.keys | {
        "studies": len(told),
        "wrong": wrong,
        "percent": round(share, 2),
        "low": round(low, 2),
        "high": round(high, 2),
        "answered": round(100 * decided / max(claims, 1), 1),
        "right": round(100 * right / max(claims, 1), 1),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.process_time() - start, 1),
    }


def outside(row: "pd.Series[object] | dict[str, object]") -> bool:
    """Whether a row is shown to be wrong more often than is nominal."""
    return float(str(row["low"])) > NOMINAL


def read_table() -> pd.DataFrame:
    """The committed table; without rows where there is none."""
    if not TABLE.exists():
        return pd.DataFrame(columns=KEYS)
    return pd.read_csv(TABLE, dtype=dict.fromkeys(KEYS, str))  # "false" is a role


def merged(found: list[dict[str, object]]) -> pd.DataFrame:
    """The committed table with these rows, in the order of the registry; rows of no world go."""
    table = pd.DataFrame(found)
    table = pd.concat([read_table(), table], ignore_index=True)
    table = table.drop_duplicates(KEYS, keep="last").set_index(KEYS)
    order = pd.MultiIndex.from_frame(pd.DataFrame([row.keys for row in rows()]))
    known = table.loc[order[order.isin(table.index)]].reset_index()
    return known.astype({"studies": int, "wrong": int})


def _on_one_core() -> None:
    """Keep a process, and the threads of its studies, on a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--only", default="", help="an analysis, or a part of the row's texts")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--missing", action="store_true", help="only rows that are in no table")
    parser.add_argument("--dry", action="store_true", help="print, and leave the table as it is")
    options = parser.parse_args()
    there = set(read_table()[KEYS].itertuples(index=False, name=None))
    numbers = [
        number
        for number, row in enumerate(rows())
        if (options.only in (row.analysis, "") or options.only in " | ".join(row.keys.values()))
        and not (options.missing and tuple(row.keys.values()) in there)
    ]
    # First of all worlds at their first setting, so that what is cut short tells of all sentences.
    places = [row.world.over.index(row.setting) for row in rows()]
    numbers.sort(key=lambda number: places[number])
    found = []
    with ProcessPoolExecutor(options.jobs, get_context("fork"), _on_one_core) as pool:
        running = [pool.submit(measured, number, options.studies) for number in numbers]
        for done in as_completed(running):
            row = done.result()
            found.append(row)
            if not options.dry:
                merged([row]).to_csv(TABLE, index=False)
            name = " | ".join(str(row[key]) for key in KEYS)
            told = f"wrong {row['percent']:5} [{row['low']}, {row['high']}] of {row['studies']}"
            told += f", right {row['right']}, answered {row['answered']}"
            print(f"{name}: {told}{', OUTSIDE' * outside(row)} ({row['seconds']} s)", flush=True)
    return int(any(outside(row) for row in found))


if __name__ == "__main__":
    sys.exit(main())
