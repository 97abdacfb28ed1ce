"""Which runs a GPU trains at the same time."""

from collections.abc import Iterator, Sequence

from anynet_study.dispatch.planned import PlannedRun

#: Architectures looked at together, as a multiple of those trained at a time: the more, the more
#: alike are those that share a GPU, and the later rows are complete.
WINDOW = 4


def cohorts(runs: Sequence[PlannedRun], at_once: int) -> Iterator[list[PlannedRun]]:
    """Groups of at most `at_once` runs of one dataset and recipe, alike in predicted length.

    They take steps in turn and so wait for the slowest; they share the dataset and, where they
    share the seed too, its stream of batches. With one at a time the order stays as it is.
    """
    if at_once == 1:
        yield from ([run] for run in runs)
        return
    for window in _windows(runs, WINDOW * at_once):
        alike: dict[tuple[str, str, int], list[PlannedRun]] = {}
        for run in window:
            alike.setdefault((run.recipe, run.dataset, run.replicate), []).append(run)
        # Runs that others start from come first, as in the plan.
        for group in sorted(alike.values(), key=lambda group: group[0].spec.pretrained is not None):
            by_length = sorted(group, key=lambda run: run.seconds)
            for first in range(0, len(by_length), at_once):
                yield by_length[first : first + at_once]


def _windows(runs: Sequence[PlannedRun], rows: int) -> Iterator[list[PlannedRun]]:
    """Runs of so many architectures and replicates, in order."""
    window: list[PlannedRun] = []
    seen: set[tuple[str, int]] = set()
    for run in runs:
        row = (run.spec.architecture.id, run.replicate)
        if row not in seen and len(seen) == rows:
            yield window
            window, seen = [], set()
        seen.add(row)
        window.append(run)
    if window:
        yield window
