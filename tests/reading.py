"""Reading a folder or an archive as `data add` does, up to the list of its images."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from anynet_study.core.errors import UserError
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.recognition import read_source
from anynet_study.data.source.source import Choices, Source, opened


def read(path: Path, name: str = "", **choices: object) -> Listing:
    """What is found at `path`, read as `choices` say, to be called `name`."""
    return read_with_source(path, name, **choices)[1]


def read_with_source(path: Path, name: str = "", **choices: object) -> tuple[Source, Listing]:
    """The same with the source that the listing is of; what was unpacked stays."""
    workspace = Path(tempfile.mkdtemp(dir=path.parent, prefix=".workspace"))
    with opened(path, workspace, Choices(**choices)) as source:
        return read_source(source, name)


def refused(told: str, path: Path, name: str = "", **choices: object) -> None:
    """Check that what is at `path` is not read, for a reason that matches `told`."""
    with pytest.raises(UserError, match=told):
        read(path, name, **choices)


def counts(listing: Listing, examples: Sequence[Example] | None) -> dict[str, int]:
    """Images of each class, by its name."""
    return dict(Counter(listing.classes[example.label] for example in examples or []))


def class_of(listing: Listing, examples: Sequence[Example] | None) -> dict[str, str]:
    """The class of each image by its path."""
    return {example.name: listing.classes[example.label] for example in examples or []}
