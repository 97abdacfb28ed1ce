"""The headline figure: how well the source's ranking carries over to each dataset.

It is an SVG that is made here, so that it shows without scripts. Its height is limited: with many
datasets, rows become thinner and lose their names.
"""

import math
from dataclasses import dataclass

from anynet_study.analysis.apr import Roles
from anynet_study.analysis.plots import pair_estimates, wording
from anynet_study.analysis.study import Study

#: Heights in pixels: the most of all rows together, the most of one row, and the least of a row
#: with room for its name.
HEIGHT, ROW, NAMED = 400, 26, 11
#: Percent of the width: where the scale begins (with names, without names) and where it ends.
BEGINS, BEGINS_UNNAMED, ENDS = 34, 3, 97


@dataclass(frozen=True)
class Row:
    """A dataset's correlation with the source; places in percent of the width."""

    dataset: str
    label: str
    said: str
    #: Pixels from the top to its middle.
    y: float
    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Headline:
    """The content of the figure, the most alike dataset first."""

    title: str
    rows: list[Row]
    #: Numbers on the scale, and their places.
    ticks: list[tuple[str, float]]
    step: float
    #: Datasets without an estimate.
    unknown: int

    @property
    def height(self) -> float:
        """Pixels of all rows."""
        return self.step * len(self.rows)

    @property
    def named(self) -> bool:
        """Tell whether rows have room for names."""
        return self.step >= NAMED


def headline_of(study: Study) -> Headline | None:
    """The correlations of the source with its targets; None where there is none."""
    table = study.get("correlations")
    if table is None or not study.errors.shape[1]:
        return None
    roles: Roles | None = study.known("roles")
    source = roles.source if roles else str(study.errors.columns[0])
    names = list(roles.targets) if roles else [str(n) for n in study.errors if n != source]
    estimates = pair_estimates(table)
    found = {name: estimates[source, name] for name in names if (source, name) in estimates}
    known = {name: it for name, it in found.items() if math.isfinite(it.estimate)}
    if not known:
        return None
    step = min(ROW, HEIGHT / len(known))
    begins = BEGINS if step >= NAMED else BEGINS_UNNAMED
    ends = [it.low if math.isfinite(it.low) else it.estimate for it in known.values()]
    least = -1.0 if min(ends) < -0.5 else -0.5 if min(ends) < 0 else 0.0

    def place(value: float) -> float:
        return round(begins + (ENDS - begins) * (value - least) / (1 - least), 2)

    letter, rows = wording.letter(table), []
    for number, (name, it) in enumerate(sorted(known.items(), key=lambda each: -each[1].estimate)):
        low, high = (it.estimate,) * 2 if math.isnan(it.low) else (it.low, it.high)
        said, label = wording.correlation(*it, letter), wording.shorten(name, 22)
        y = step * (number + 0.5)
        rows.append(Row(name, label, said, y, place(it.estimate), place(low), place(high)))
    what = "target" if roles else "other dataset"
    title = f"{wording.coefficient(table)} of the errors on {source} and on each {what}"
    apart = 0.25 if least == 0 else 0.5
    numbers = [least + apart * k for k in range(round((1 - least) / apart) + 1)]
    ticks = [(wording.number(value), place(value)) for value in numbers]
    return Headline(title, rows, ticks, step, len(names) - len(known))
