"""The comparison as text, and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import mean, median

from .checks import Rounds, by_run, error_differences
from .task import Task
from .ways import Measured, Way

#: The plain loop as users write it, and the quickest, against which a fast engine must be measured.
BASELINES = ("loader", "processes")


def summary(ways: Sequence[Way], rounds: Rounds) -> list[dict[str, object]]:
    """A row a way: medians over the rounds, and ratios to the baselines."""
    return [
        {
            "way": way.name,
            "title": way.title,
            **_numbers("runs_an_hour", way.name, rounds),
            **_numbers("images_a_second", way.name, rounds),
            "start_up": median(one.start_up for one in rounds[way.name]),
            "mean_error": mean(result.error for result in rounds[way.name][0].results),
        }
        for way in ways
    ]


def ratio(quantity: str, way: str, baseline: str, rounds: Rounds) -> float:
    """Median over the rounds of the ratio within a round: both met the same machine."""
    pairs = zip(rounds[way], rounds[baseline], strict=True)
    ratios = [getattr(one, quantity) / getattr(other, quantity) for one, other in pairs]
    return float(median(ratios))


def _numbers(quantity: str, way: str, rounds: Rounds) -> dict[str, object]:
    values = sorted(getattr(one, quantity) for one in rounds[way])
    ratios = {f"{quantity}_over_{one}": ratio(quantity, way, one, rounds) for one in BASELINES}
    return {quantity: median(values), f"{quantity}_range": (values[0], values[-1]), **ratios}


def lines(task: Task, rows: Sequence[Mapping[str, object]]) -> list[str]:
    """The table of a task."""
    head = (
        f"{task.device}, {task.side} px: {task.runs} networks of 360-400 MF, {task.epochs} epochs "
        f"of {task.steps} steps of {task.batch} images, {task.test_images} to test on"
        if task.dataset is None
        else f"{task.device}: {task.runs} networks of 360-400 MF on {task.dataset}, {task.epochs} "
        f"epochs of {task.steps} steps of {task.batch} images"
    )
    over = " / ".join(BASELINES)
    titles = f"{'':46}{'runs/h':>8}  {'(range)':13}{'x ' + over:>20}{'images/s':>10}"
    return [head, f"{titles}  {'(range)':13}{'x ' + over:>20}  start-up  error", *map(_line, rows)]


def _line(row: Mapping[str, object]) -> str:
    parts = [f"{row['title']:46}"]
    for quantity, width in (("runs_an_hour", 8), ("images_a_second", 10)):
        low, high = row[f"{quantity}_range"]  # type: ignore[misc]
        over = " / ".join(f"{row[f'{quantity}_over_{one}']:.2f}" for one in BASELINES)
        parts.append(f"{row[quantity]:{width}.0f}  {f'({low:.0f}-{high:.0f})':13}{over:>20}")  # type: ignore[has-type]
    return "".join([*parts, f"{row['start_up']:8.1f} s{row['mean_error']:6.1f}%"])


def agreement(rounds: Rounds, tests: int) -> str:
    """How alike the results of the engines are, tested on `tests` images."""
    errors = {name: by_run(measured[0].results) for name, measured in rounds.items()}
    engines, seeds, most = error_differences(errors, tests)
    return (
        f"fast against reference: final errors {engines:.2f} points apart (root mean square; other "
        f"seeds {seeds:.2f}; refused above {most:.2f})"
    )


def plain(measured: Mapping[str, Sequence[Measured]]) -> dict[str, list[dict[str, object]]]:
    """Everything that was measured, for JSON."""
    return {name: [asdict(one) for one in each] for name, each in measured.items()}
