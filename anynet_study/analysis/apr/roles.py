"""The roles of datasets: the source, its X family, and the targets."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from anynet_study.core.errors import DoesNotApplyError


@dataclass(frozen=True)
class Roles:
    """A source with its X family (subsets of its classes) and targets (paper 1, section 4.3).

    >>> Roles.among("imagenet", ["imagenet", "flowers"], {"imagenet": 1000}).targets
    {'flowers': 0}
    """

    source: str
    #: Members of the X family, the source among them, with their class counts.
    family: dict[str, int]
    #: Target datasets with their class counts.
    targets: dict[str, int]
    # Counts tell members of the family apart; in a family of one they may be 0, not known.

    def __post_init__(self) -> None:
        if self.source not in self.family:
            raise DoesNotApplyError(
                f"family: the source {self.source} has to be one of its members"
            )
        for name, classes in (self.family | self.targets).items():
            if classes < (len(self.family) > 1):
                raise DoesNotApplyError(
                    f"classes of {name}: {classes} is not a count of at least 1"
                )
        both = sorted(set(self.family) & set(self.targets))
        if both:
            raise DoesNotApplyError(f"targets: {', '.join(both)} is of the source's family")
        if not self.targets:
            raise DoesNotApplyError(
                "targets: at least one dataset outside the source's family is needed"
            )

    @classmethod
    def from_datasets(cls, datasets: pd.DataFrame) -> "Roles":
        """Roles from a store's datasets table (columns dataset, role, classes).

        Datasets without a role may have any class count, also an unknown one (NaN).
        """
        having = datasets[datasets["role"].isin(["source", "family", "target"])]
        counts = map(int, having["classes"].fillna(0))
        classes = dict(zip(having["dataset"], counts, strict=True))
        role = dict(zip(having["dataset"], having["role"], strict=True))
        sources = [name for name in classes if role[name] == "source"]
        if len(sources) != 1:
            raise DoesNotApplyError(
                f"datasets: {len(sources)} have the role source; exactly one is needed"
            )
        family = {name: classes[name] for name in classes if role[name] in ("source", "family")}
        targets = {name: classes[name] for name in classes if role[name] == "target"}
        return cls(sources[0], family, targets)

    @classmethod
    def among(cls, source: str, datasets: Iterable[str], classes: Mapping[str, int]) -> "Roles":
        """The source without a family, and as targets all others of `datasets`.

        `classes` as far as known. Raises UserError where there are no others.
        """
        targets = {name: classes.get(name, 0) for name in datasets if name != source}
        return cls(source, {source: classes.get(source, 0)}, targets)

    def without(self, datasets: Collection[str]) -> "Roles | None":
        """Leave out targets; None where none is left."""
        left = {name: count for name, count in self.targets.items() if name not in datasets}
        return replace(self, targets=left) if left else None

    def closest_member(self, classes: int) -> str:
        """The member of the family with the nearest class count; of two, the one with fewer."""
        counts = self.family
        return min(counts, key=lambda name: (abs(counts[name] - classes), counts[name]))

    def check(self, datasets: Iterable[str]) -> None:
        """Raise UserError unless every dataset with a role is one of `datasets`."""
        there = list(datasets)
        absent = [name for name in (self.family | self.targets) if name not in there]
        if absent:
            raise DoesNotApplyError(
                f"errors: no column {', '.join(absent)}; the datasets are {', '.join(there)}"
            )
