"""Insects (British carabids): one folder a species, named by its GBIF key."""

import re

from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.named_folders import read_as
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder

LAYOUT = "Insects"
#: Shorter numbers are class indices of other datasets.
SPECIES_KEY = re.compile(r"\d{5,}")
NOTE = "classes are species keys in the order of strings: label k is the k-th class listed here"


def recognises(source: Source, root: Folder) -> bool:
    """Two folders or more, all named by numbers of five digits or more."""
    return len(root.folders) >= 2 and all(map(SPECIES_KEY.fullmatch, root.folders))


def read(source: Source, root: Folder) -> Listing:
    """The keys are the classes; sorted as strings, 10001 comes before 2001."""
    return read_as(LAYOUT, source, root, root, (NOTE,))
