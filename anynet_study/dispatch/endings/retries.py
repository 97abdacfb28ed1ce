"""Which failed runs are tried once more, how, and on which nodes not."""

from collections import Counter
from collections.abc import Collection, Iterable

from anynet_study.dispatch.endings.deaths import Death
from anynet_study.dispatch.endings.logs import KILLED
from anynet_study.dispatch.recorded import Again, Recorded

#: Kinds of failure that another try may not meet: with less memory, or elsewhere.
PASSING_KINDS = frozenset({"oom", "timeout", "node"})
#: Those that another node may not meet.
ELSEWHERE = frozenset({"timeout", "node"})
EVERY_KIND = frozenset({"oom", "data", "timeout", "node", "code"})


def retries(
    recorded: Recorded,
    attempts: int | None,
    kinds: Collection[str] = PASSING_KINDS,
    deaths: Iterable[Death] = (),
) -> dict[str, Again]:
    """The runs that are tried once more, whose last failure was of one of `kinds`.

    After so many `attempts` a run stays as it is; None: no limit. `deaths` are of workers killed
    since: a run at which one was killed for want of memory, or why is not known, gets more of it.
    """
    short = Counter(it.run_id for it in deaths if it.kind == "oom" or it.words == KILLED[1])
    again = {
        run_id: Again(0, times) for run_id, times in short.items() if run_id not in recorded.runs
    }
    for run_id, last in recorded.failed().items():
        failures = recorded.failures[run_id]
        if last.kind in kinds and (attempts is None or len(failures) < attempts):
            oom = sum(failure.kind == "oom" for failure in failures)
            again[run_id] = Again(len(failures), oom + short[run_id])
    return again


def nodes_failed_on(
    recorded: Recorded, runs: Collection[str], deaths: Iterable[Death] = ()
) -> frozenset[str]:
    """The nodes on which these runs failed, or workers were killed at them; others may help."""
    failed = (failure for run_id in runs for failure in recorded.failures.get(run_id, ()))
    tries = [(failure.kind, failure.host) for failure in failed]
    tries += [(death.kind, death.host) for death in deaths if death.run_id in runs]
    return frozenset(host for kind, host in tries if kind in ELSEWHERE and host)
