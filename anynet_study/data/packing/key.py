"""What decides the bytes of a packing, in one hash: only the same packing is gone on with."""

import hashlib

import PIL
from PIL import features

from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.source.source import Source

#: Raised when the same source is packed to other bytes.
VERSION = 2


def packing_key(source: Source | None, listing: Listing, *options: object) -> str:
    """A hash of the decoder, the options, the source and every example; see also `stamps`."""
    header = (
        VERSION,
        PIL.__version__,
        features.version("libjpeg_turbo"),
        options,
        listing.layout,
        listing.root,
        listing.classes,
        listing.multi_label,
        None if source is None else str(source.path.resolve()),
    )
    key = hashlib.sha256(repr(header).encode("utf-8", "surrogateescape"))
    for examples in (listing.train, listing.test or []):
        key.update(b"split")
        for example in examples:
            key.update(_stamp_of_example(example))
    return key.hexdigest()


def _stamp_of_example(example: Example) -> bytes:
    parts = (
        example.name,
        example.label,
        example.also,
        example.group,
        example.content,
        example.area,
        example.channels,
        example.file,
    )
    return repr(parts).encode("utf-8", "surrogateescape")
