"""Images that cannot be read: left out, and listed by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anynet_study.data.packed.meta import Broken, Split
from anynet_study.data.packing.decoding import Block
from anynet_study.data.readers.listing import Example
from anynet_study.errors import UserError, printable


@dataclass
class Quarantine:
    """Unreadable images, against the share of all `examples` that is allowed."""

    examples: Mapping[Split, Sequence[Example]]
    share: float
    #: By split the reasons, by the position of the example.
    reasons: dict[Split, dict[int, str]] = field(default_factory=lambda: {"train": {}, "test": {}})

    def add(self, split: Split, first: int, block: Block) -> None:
        """Add those of `block`, whose images begin at position `first`.

        UserError when they have become too many, or one was asked for by its content.
        """
        for place, reason in block.broken.items():
            example = self.examples[split][first + place]
            if example.content:
                image = printable(example.name)
                raise UserError(f"{image}: the manifest has it, but it is unreadable ({reason})")
            self.reasons[split][first + place] = printable(reason)
        total, found = sum(map(len, self.examples.values())), sum(map(len, self.reasons.values()))
        if found > self.share * total:
            worst = self.found()[0]
            raise UserError(
                f"{worst.image}: unreadable image ({worst.reason}); {found} of {total} so far, "
                f"and --max-broken allows a share of {self.share:g}"
            )

    def clear(self) -> None:
        """Begin again."""
        for reasons in self.reasons.values():
            reasons.clear()

    def readable(self, split: Split, first: int, last: int) -> list[Example]:
        """The readable examples at positions from `first` to before `last`."""
        broken = self.reasons[split]
        return [self.examples[split][place] for place in range(first, last) if place not in broken]

    def found(self) -> list[Broken]:
        """All of them, in order."""
        return [
            Broken(split=split, image=printable(self.examples[split][place].name), reason=reason)
            for split, reasons in self.reasons.items()
            for place, reason in reasons.items()
        ]
