"""Datasets: read as they are downloaded, packed once, cut into variants."""

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
