"""Whether the pickles of a CIFAR in python form are those that its authors serve."""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from anynet_study.data.source.source import Source

#: MD5 of the files in the official archives, by name (CIFAR-10, then CIFAR-100).
OFFICIAL: Mapping[str, str] = MappingProxyType(
    {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
        "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
        "train": "16019d7e3df5f24257cddd939b257f8d",
        "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        "meta": "7973b15100ade9c7d40fb424638fde48",
    }
)


def note_on_hashes(
    source: Source, root: str, names: Sequence[str], most_bytes: int
) -> tuple[str, ...]:
    """A note on the files of `names`, in the folder `root`, that are others; none if all are.

    They are hashed, not opened. ValueError for a file above `most_bytes`.
    """
    others = [
        name
        for name in names
        if _md5(source.member(f"{root}/{name}" if root else name).read(most_bytes))
        != OFFICIAL[name]
    ]
    if not others:
        return ()
    return (f"not the official files, by their MD5: {', '.join(others)}",)


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
