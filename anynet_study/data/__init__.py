"""Datasets: read as they are downloaded, packed once, cut into variants.

Each name is imported when it is first used: a process that decodes needs none of them.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.data.builtin import BUILT_IN as BUILT_IN
    from anynet_study.data.catalog import CATALOG as CATALOG
    from anynet_study.data.catalog import STUDY as STUDY
    from anynet_study.data.catalog import CatalogEntry as CatalogEntry
    from anynet_study.data.contact_sheet import save_contact_sheet as save_contact_sheet
    from anynet_study.data.describe import details as details
    from anynet_study.data.describe import summary as summary
    from anynet_study.data.describe import view_details as view_details
    from anynet_study.data.describe import view_rows as view_rows
    from anynet_study.data.describe import view_summary as view_summary
    from anynet_study.data.ingest import add_dataset as add_dataset
    from anynet_study.data.library import inventory as inventory
    from anynet_study.data.library import load_dataset as load_dataset
    from anynet_study.data.library import present as present
    from anynet_study.data.packed.dataset import Labels as Labels
    from anynet_study.data.packed.dataset import PackedDataset as PackedDataset
    from anynet_study.data.packed.images import Images as Images
    from anynet_study.data.packed.kept import keep_labels as keep_labels
    from anynet_study.data.packed.kept import reading_kept as reading_kept
    from anynet_study.data.packed.manifest import copy_manifest as copy_manifest
    from anynet_study.data.packed.meta import Split as Split
    from anynet_study.data.packed.root import data_root as data_root
    from anynet_study.data.packed.root import dataset_folder as dataset_folder
    from anynet_study.data.packed.root import publish as publish
    from anynet_study.data.packed.root import workspace as workspace
    from anynet_study.data.packing.packing import Origin as Origin
    from anynet_study.data.packing.packing import pack as pack
    from anynet_study.data.readers.listing import Example as Example
    from anynet_study.data.readers.listing import Listing as Listing
    from anynet_study.data.seeded import seeded_order as seeded_order
    from anynet_study.data.seeded import seeded_uniform as seeded_uniform
    from anynet_study.data.source.images import decode_image as decode_image
    from anynet_study.data.source.source import Choices as Choices
    from anynet_study.data.variants import ClassChoice as ClassChoice
    from anynet_study.data.variants import Variant as Variant
    from anynet_study.data.views import DatasetView as DatasetView
    from anynet_study.data.views import make_view as make_view
    from anynet_study.data.views import of_classes as of_classes

_HOMES = {
    "builtin": "BUILT_IN",
    "catalog": "CATALOG STUDY CatalogEntry",
    "contact_sheet": "save_contact_sheet",
    "describe": "details summary view_details view_rows view_summary",
    "ingest": "add_dataset",
    "library": "inventory load_dataset present",
    "packed.dataset": "Labels PackedDataset",
    "packed.images": "Images",
    "packed.kept": "keep_labels reading_kept",
    "packed.manifest": "copy_manifest",
    "packed.meta": "Split",
    "packed.root": "data_root dataset_folder publish workspace",
    "packing.packing": "Origin pack",
    "readers.listing": "Example Listing",
    "seeded": "seeded_order seeded_uniform",
    "source.images": "decode_image",
    "source.source": "Choices",
    "variants": "ClassChoice Variant",
    "views": "DatasetView make_view of_classes",
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names.split()}
)
