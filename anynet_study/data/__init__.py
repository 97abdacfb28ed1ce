"""Datasets: read as they are downloaded, packed once, cut into variants.

Each name is imported when it is first used: a process that decodes needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anynet_study.data.builtin import BUILT_IN
    from anynet_study.data.catalog import STUDY, CatalogEntry
    from anynet_study.data.ingest import add_dataset
    from anynet_study.data.library import load_dataset, present
    from anynet_study.data.packed import PackedDataset
    from anynet_study.data.root import data_root
    from anynet_study.data.variants import Variant
    from anynet_study.data.views import DatasetView, make_view

__all__ = [
    "BUILT_IN",
    "STUDY",
    "CatalogEntry",
    "DatasetView",
    "PackedDataset",
    "Variant",
    "add_dataset",
    "data_root",
    "load_dataset",
    "make_view",
    "present",
]

_HOMES = {
    "BUILT_IN": "builtin",
    "STUDY": "catalog",
    "CatalogEntry": "catalog",
    "DatasetView": "views",
    "PackedDataset": "packed",
    "Variant": "variants",
    "add_dataset": "ingest",
    "data_root": "root",
    "load_dataset": "library",
    "make_view": "views",
    "present": "library",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"anynet_study.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'anynet_study.data' has no attribute '{name}'")
