"""Claims: all that a study is said to show, and the one place in which they become words.

An analysis says no text. It says claims (`Claim`): which question is answered of what, from which
interval, corrected p or confidence set, and which sources of error those carry. The answer
follows from them by the one rule of `apr.verdicts`, and the words from the answer. What would be
surer than its evidence cannot be said: a claim is refused that has

- a number alone, without an interval;
- evidence that lacks a source of error of which its sentence speaks (`Kind.speaks`);
- an interval that holds for fewer questions together than were asked.

And a kind of sentence that names the largest or smallest of several is refused unless its evidence
allows for that choice. How often the sentences of each kind are wrong is measured on simulated
studies (`worlds`); a kind without them is not said.

What is recorded, and no sample of anything, is a `Fact`: counts and names.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from string import Formatter
from typing import Literal, get_args

from anynet_study.analysis.apr.verdicts import verdict
from anynet_study.analysis.plots import wording
from anynet_study.core.errors import listed

#: What an interval can allow for: other architectures of the design space, test images, trainings
#: and targets, and the choice of this result among several.
Source = Literal["architectures", "images", "trainings", "targets", "choice"]
Sources = frozenset[Source]
#: "opposite": an effect of at least the smallest that matters, with the other sign. "estimate": of
#: a question that wants a number. "unknown": there is no evidence.
Answer = Literal["yes", "no", "undecided", "opposite", "estimate", "unknown"]
#: Words that tell of one chosen among several because it is extreme.
CHOSEN = re.compile(
    r"\b(?:most(?! of)|least|best|worst|(?:high|low|larg|small|hard|easi|wid|narrow)est)\b"
)
#: What claims that share a sentence have in common, or together.
SHARED = {"about", "subject", "names", "any_of"}
#: Up to this many names stand in a sentence; more are counted.
NAMED = 6


@dataclass(frozen=True)
class Interval:
    """An interval of an effect that holds together with those of `together` questions.

    NaN ends: there is none. An end that nothing bounds is infinite, or that of the scale.
    """

    low: float
    high: float
    carries: Sources
    together: int = 1
    #: Where an estimate is told with it.
    estimate: float = math.nan

    def answer(self, smallest: float) -> Answer:
        """The rule of `apr.verdicts`, and its mirror image."""
        if math.isnan(self.low) or math.isnan(self.high):
            return "unknown"
        if self.high < -smallest or self.high == -smallest < 0:
            return "opposite"
        [found] = verdict(self.low, self.high, smallest)
        answer: Answer = found
        return answer


@dataclass(frozen=True)
class CorrectedP:
    """A two-sided p, corrected for the `together` tests of its family, and the effect's sign."""

    p: float
    sign: float
    carries: Sources
    together: int = 1
    level: float = 0.95

    def answer(self, smallest: float) -> Answer:
        """ "yes" of a positive effect, "opposite" of a negative one; a test never says "no"."""
        if math.isnan(self.p) or math.isnan(self.sign):
            return "unknown"
        if self.p > 1 - self.level or not self.sign:
            return "undecided"
        return "yes" if self.sign > 0 else "opposite"


@dataclass(frozen=True)
class BestSet:
    """The set of those that can be the best (`apr.can_be_largest`), in `together` questions."""

    #: Of the confidence set: names.
    can_be: tuple[str, ...]
    #: How many were compared.
    among: int
    carries: Sources
    together: int = 1

    def answer(self, smallest: float) -> Answer:
        """ "yes" where one alone can be, "no" never: some member is the best."""
        if self.among < 2 or not self.can_be:
            return "unknown"
        return "yes" if len(self.can_be) == 1 else "undecided"


Evidence = Interval | CorrectedP | BestSet


@dataclass(frozen=True)
class Kind:
    """A kind of claim: a question, the errors that its sentence speaks of, and its words.

    `words` are by answer; answers without words are not said. They may have {about}, {names},
    {any_of} (after a negation), {subject}, which is "it" where the last sentence had it already,
    {interval}, {low}, {high}, {members} and the `told` of a claim. Claims with the same answer of
    the same `about` share a sentence, unless that has numbers or `told`.
    """

    name: str
    speaks: Sources
    words: Mapping[Answer, str] = field(hash=False)
    #: The smallest effect that matters; None: a number is asked for.
    smallest: float | None = 0.0
    subject: str = ""
    #: What the names are, in the plural.
    what: str = "datasets"

    def __post_init__(self) -> None:
        unknown = {*self.speaks} - {*get_args(Source)}
        if unknown or not self.speaks:
            raise ValueError(f"{self.name}: speaks of {sorted(unknown)}; legal: {Source}")
        for text in self.words.values():
            chosen = CHOSEN.search(text)
            if chosen and "choice" not in self.speaks:
                raise ValueError(
                    f"{self.name}: {chosen[0]!r} is of one that was chosen, and it does not speak "
                    "of the choice"
                )


@dataclass(frozen=True)
class Claim:
    """One claim: the answer to a question of `kind` for `name`, about (say) the source."""

    kind: Kind
    #: What the answer is of, such as a target.
    name: str
    evidence: Evidence
    about: str = ""
    #: How many such questions were asked together.
    asked: int = 1
    #: Further words: names, counts.
    told: Mapping[str, str | int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.evidence, Evidence):
            raise TypeError(f"{self.kind.name}: {self.evidence!r} is no evidence: a number alone")
        lacking = self.kind.speaks - self.evidence.carries
        if lacking:
            raise ValueError(
                f"{self.kind.name}: its evidence does not carry the error of "
                f"{listed(sorted(lacking))}, of which the sentence speaks"
            )
        if self.evidence.together < self.asked:
            raise ValueError(
                f"{self.kind.name}: of {self.asked} questions, the evidence holds together for "
                f"{self.evidence.together}"
            )
        check_counts(self.told)

    @property
    def answer(self) -> Answer:
        """Return what its evidence says."""
        if self.kind.smallest is not None:
            return self.evidence.answer(self.kind.smallest)
        return "unknown" if self.evidence.answer(0.0) == "unknown" else "estimate"


@dataclass(frozen=True)
class Fact:
    """A recorded fact: its words, and the counts and names in them; no estimate of anything."""

    text: str
    told: Mapping[str, str | int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_counts(self.told)

    def __str__(self) -> str:
        return self.text.format(**shown(self.told))


#: What an analysis says.
Said = Sequence[Claim | Fact]


def sources(*names: Source) -> Sources:
    """Sources of error, of evidence or of a kind of sentence."""
    return frozenset(names)


def check_counts(told: Mapping[str, object]) -> None:
    """Raise TypeError for what is neither a name nor a count, as an estimate is."""
    for name, value in told.items():
        if not isinstance(value, str | int):
            raise TypeError(f"{name}: {value!r} is an estimate; it needs an interval of its own")


def shown(told: Mapping[str, str | int]) -> dict[str, str]:
    """Counts with separators."""
    return {name: value if isinstance(value, str) else f"{value:,}" for name, value in told.items()}


def sentences(said: Said, measured: Collection[Kind]) -> list[str]:
    """The words of claims and facts, in order; what shares a kind and a subject follows it.

    Raises ValueError for a claim of a kind that is not among those that are `measured`.
    """
    for it in said:
        if isinstance(it, Claim) and it.kind not in measured:
            raise ValueError(f"{it.kind.name}: no world measures how often it is wrong")
    found: list[str] = []
    for group, members in groupby(said, key=lambda it: _group(it)):
        if group is None:
            found += [str(fact) for fact in members]
        else:
            claims = [it for it in members if isinstance(it, Claim)]
            found += _of_group(claims)
    return found


def _group(said: Claim | Fact) -> tuple[str, str] | None:
    return None if isinstance(said, Fact) else (said.kind.name, said.about)


def _of_group(claims: Sequence[Claim]) -> list[str]:
    """Claims of one kind about one thing: a sentence per answer, or per claim with numbers."""
    kind, about = claims[0].kind, claims[0].about
    subject, told, single = kind.subject.format(about=about), [], []
    for answer, text in kind.words.items():
        these = [claim for claim in claims if claim.answer == answer]
        if not these:
            continue
        if {field for _, field, _, _ in Formatter().parse(text) if field} - SHARED:
            single += [_sentence(text, subject, about, [it], it.asked, kind.what) for it in these]
            continue
        told.append(_sentence(text, subject, about, these, len(claims), kind.what))
        subject = "it" if kind.subject else subject
    return ([" ".join(told)] if told else []) + single


def _sentence(
    text: str, subject: str, about: str, claims: Sequence[Claim], total: int, what: str
) -> str:
    names, evidence = [claim.name for claim in claims], claims[0].evidence
    numbers: dict[str, str] = {}
    if isinstance(evidence, Interval):
        low, high = evidence.low, evidence.high
        numbers = {"low": wording.number(low), "high": wording.number(high)}
        numbers["interval"] = wording.interval(low, high)
        if not math.isnan(evidence.estimate):
            numbers["interval"] = wording.estimate(evidence.estimate, low, high)
    if isinstance(evidence, BestSet):
        numbers["members"] = some(evidence.can_be, evidence.among, "members of the family")
    told = text.format(
        about=about,
        subject=subject,
        names=some(names, total, what),
        any_of=any_of(names, total, what),
        **numbers,
        **shown(claims[0].told),
    )
    return f"{told[0].upper()}{told[1:]}."


def some(names: Sequence[str], total: int, what: str = "datasets") -> str:
    """Name a few datasets, count many; `what` they are all called."""
    if len(names) == total > 1:
        return f"both {what}" if total == 2 else f"all {total} {what}"
    return listed(names) if len(names) <= NAMED else f"{len(names)} of {total} {what}"


def any_of(names: Sequence[str], total: int, what: str = "datasets") -> str:
    """Name them as `some` does, but after a negation: "not to all" leaves open to which."""
    if len(names) == total > 1:
        return f"either of the two {what}" if total == 2 else f"any of the {total} {what}"
    return some(names, total, what)
