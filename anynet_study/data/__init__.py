"""Datasets: read as they are downloaded, packed once, cut into variants.

Each name is imported when it is first used: a process that decodes needs none of them.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

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

__getattr__ = on_first_use(
    __name__,
    {
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
    },
)
