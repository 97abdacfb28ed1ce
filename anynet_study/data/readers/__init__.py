"""Readers of datasets as they are downloaded, one module a layout."""

from anynet_study.data.readers.known import READERS, Reader
from anynet_study.data.readers.listing import Example, Listing
from anynet_study.data.readers.recognition import UnknownLayoutError, read_source

__all__ = ["READERS", "Example", "Listing", "Reader", "UnknownLayoutError", "read_source"]
