"""What a study found, in sentences: each with its interval and number of architectures.

A ranking *carries over* where the interval of the correlation lies above 0, is *reversed* where it
lies below, and is *undecided* where it includes 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from anynet_study.report.analyses.kind import effective_in, roles_in
from anynet_study.report.analysis import Analysis
from anynet_study.report.words import drivers, noise, proxies, shifts, training

#: Fewer architectures than this give intervals too wide for more than a first impression.
FEW = 50


@dataclass(frozen=True)
class Finding:
    """What was found on one question, and the section of the page that shows it."""

    topic: str
    section: str
    sentences: list[str]


def findings(analysis: Analysis) -> list[Finding]:
    """The answer, most important first; questions without an answer are not there."""
    found = [
        Finding("The source", "proxies", _of_the_source(analysis)),
        Finding("Which proxy", "proxies", _which_proxy(analysis)),
        Finding("Drivers", "drivers", _drivers(analysis)),
        Finding("Training", "training", _training(analysis)),
        Finding("Training noise", "noise", _said(analysis, "noise", noise.noise)),
        Finding("Further test sets", "shifts", _shifts(analysis)),
        Finding("How sure", "proxies", _how_sure(analysis)),
    ]
    return [finding for finding in found if finding.sentences]


def _said(analysis: Analysis, name: str, say: Callable[[pd.DataFrame], list[str]]) -> list[str]:
    """The sentences on an analysis; none where it is not there."""
    table = analysis.get(name)
    return [] if table is None else say(table)


def _of_the_source(analysis: Analysis) -> list[str]:
    match, regret = analysis.get("match"), analysis.get("regret")
    if match is None:
        return []
    source = roles_in(analysis.tables).source
    said = [proxies.carry_over(match, source), *proxies.gain(match, source)]
    return said if regret is None else said + proxies.price(regret, source)


def _which_proxy(analysis: Analysis) -> list[str]:
    def each(table: pd.DataFrame) -> list[str]:
        return [proxies.best_proxy(rows) for _, rows in table.groupby("target", sort=False)]

    return _said(analysis, "proxies", each)


def _drivers(analysis: Analysis) -> list[str]:
    sums = _said(analysis, "drivers", drivers.driver_flips)
    return sums + _said(analysis, "stages", drivers.stage_flips)


def _training(analysis: Analysis) -> list[str]:
    shortest = _said(analysis, "budget", training.shortest)
    return shortest + _said(analysis, "recipes", training.other_recipes)


def _shifts(analysis: Analysis) -> list[str]:
    agreement = analysis.get("shift-agreement")
    return _said(analysis, "shifts", lambda table: shifts.shifted(table, agreement)) + _said(
        analysis, "significance", shifts.told_apart
    )


def _how_sure(analysis: Analysis) -> list[str]:
    return _said(analysis, "sizes", proxies.narrower) + caution(analysis)


def caution(analysis: Analysis) -> list[str]:
    """Say when the population is too small to trust."""
    count = int(analysis.tables.errors.notna().any(axis=1).sum())
    effective = effective_in(analysis.tables)
    if min(count, effective or count) >= FEW:
        return []
    weighted = f", of unequal weights and as good as {effective:.0f}," if effective else ""
    return [
        f"With {count} architectures{weighted} the intervals are wide: read this as a first "
        "impression."
    ]
