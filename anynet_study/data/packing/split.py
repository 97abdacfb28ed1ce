"""Packing one split, from its beginning or from where it was left."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anynet_study.data.packed.form import Form
from anynet_study.data.packed.meta import Split
from anynet_study.data.packing.decoding import Block
from anynet_study.data.packing.marks import SplitMark
from anynet_study.data.packing.pool import blocks_of
from anynet_study.data.packing.quarantine import Quarantine
from anynet_study.data.packing.stamps import chained, stamp_of
from anynet_study.data.packing.writer import SplitWriter, label_array
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.images import Encoded
from anynet_study.data.source.source import Source
from anynet_study.errors import UserError, printable


class SplitPacking:
    """The files of a split as they grow."""

    def __init__(
        self,
        folder: Path,
        split: Split,
        source: Source | None,
        listing: Listing,
        form: Form,
        quarantine: Quarantine,
        mark: SplitMark | None = None,
    ) -> None:
        """`mark`: go on from there. ValueError or OSError if the files are not what it says."""
        self.split: Split = split
        self.examples = quarantine.examples[split]
        self._source, self._listing, self._form = source, listing, form
        self._quarantine = quarantine
        #: Examples decoded so far, the unreadable included.
        self.done = 0
        self._chain = b""
        classes = len(listing.classes), listing.multi_label
        self.writer = SplitWriter(folder, split, form, *classes, mark.rows if mark else 0)
        if mark is not None:
            self._go_on(mark)

    def encoded(self) -> Iterator[Encoded]:
        """What the examples that are left are decoded from."""
        return self._encoded(self.examples[self.done :])

    def append(self, block: Block, data: NDArray[np.uint8]) -> None:
        """Append the next block; UserError for one that ends the packing."""
        last = self.done + block.count
        self._quarantine.add(self.split, self.done, block)
        readable = self._quarantine.readable(self.split, self.done, last)
        check_contents(readable, block.contents)
        width = len(self._listing.classes), self._listing.multi_label
        self.writer.append(block, data, label_array(readable, *width))
        self._chain = chained(self._chain, [block.stamp])
        self.done = last

    def mark(self) -> SplitMark:
        """How far it has come."""
        labels, images = self.writer.hashes
        return SplitMark(
            examples=self.done,
            rows=self.writer.rows,
            chain=self._chain.hex(),
            labels=labels.hex(),
            images=images.hex(),
            broken=dict(self._quarantine.reasons[self.split]),
        )

    def _encoded(self, examples: Sequence[Example]) -> Iterator[Encoded]:
        return (self._listing.encoded(self._source, example) for example in examples)

    def _go_on(self, mark: SplitMark) -> None:
        self.done = mark.examples
        blocks = blocks_of(self._encoded(self.examples[: mark.examples]), self._form)
        self._chain = chained(b"", map(stamp_of, blocks))
        self._quarantine.reasons[self.split].update(mark.broken)
        if self.mark() != mark:
            self.writer.__exit__(ValueError, None, None)
            raise ValueError("the source or what was packed of it has changed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.writer.__exit__(*raised)


def check_contents(examples: Sequence[Example], contents: NDArray[np.uint8]) -> None:
    """UserError for the first of `examples` whose content, (N, 16), is not what is expected."""
    for example, content in zip(examples, contents, strict=True):
        if example.content and example.content != (found := content.tobytes().hex()):
            raise UserError(
                f"{printable(example.name)}: not the image of the manifest, whose content is "
                f"{example.content}; this one's is {found}"
            )
