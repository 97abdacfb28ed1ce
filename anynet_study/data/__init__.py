"""Datasets: read as they are downloaded, packed once, cut into variants.

Each name is imported when it is first used: a process that decodes needs none of them.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.data.builtin import BUILT_IN
    from anynet_study.data.catalog import STUDY, CatalogEntry
    from anynet_study.data.ingest import add_dataset
    from anynet_study.data.packed.dataset import PackedDataset
    from anynet_study.data.packed.library import load_dataset, present
    from anynet_study.data.packed.root import data_root
    from anynet_study.data.views.variants import Variant
    from anynet_study.data.views.view import DatasetView, make_view

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
        "DatasetView": "views.view",
        "PackedDataset": "packed.dataset",
        "Variant": "views.variants",
        "add_dataset": "ingest",
        "data_root": "packed.root",
        "load_dataset": "packed.library",
        "make_view": "views.view",
        "present": "packed.library",
    },
)
