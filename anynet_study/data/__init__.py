"""Datasets: read as they are downloaded, packed once, cut into variants.

Each name is imported when it is first used: a process that decodes needs none of them.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use

if TYPE_CHECKING:
    from anynet_study.data.builtin import BUILT_IN
    from anynet_study.data.catalog import CATALOG, STUDY, CatalogEntry
    from anynet_study.data.contact_sheet import save_contact_sheet
    from anynet_study.data.describe import details, summary, view_details, view_rows, view_summary
    from anynet_study.data.ingest import add_dataset
    from anynet_study.data.library import inventory, load_dataset, present
    from anynet_study.data.packed.dataset import Labels, PackedDataset
    from anynet_study.data.packed.images import Images
    from anynet_study.data.packed.kept import keep_labels, reading_kept
    from anynet_study.data.packed.manifest import copy_manifest
    from anynet_study.data.packed.meta import Split
    from anynet_study.data.packed.root import data_root, dataset_folder, publish, workspace
    from anynet_study.data.packing.packing import Origin, pack
    from anynet_study.data.readers.listing import Example, Listing
    from anynet_study.data.seeded import seeded_order, seeded_uniform
    from anynet_study.data.source.images import decode_image
    from anynet_study.data.source.source import Choices
    from anynet_study.data.variants import ClassChoice, Variant
    from anynet_study.data.views import DatasetView, make_view, of_classes

__all__ = [
    "BUILT_IN",
    "CATALOG",
    "STUDY",
    "CatalogEntry",
    "Choices",
    "ClassChoice",
    "DatasetView",
    "Example",
    "Images",
    "Labels",
    "Listing",
    "Origin",
    "PackedDataset",
    "Split",
    "Variant",
    "add_dataset",
    "copy_manifest",
    "data_root",
    "dataset_folder",
    "decode_image",
    "details",
    "inventory",
    "keep_labels",
    "load_dataset",
    "make_view",
    "of_classes",
    "pack",
    "present",
    "publish",
    "reading_kept",
    "save_contact_sheet",
    "seeded_order",
    "seeded_uniform",
    "summary",
    "view_details",
    "view_rows",
    "view_summary",
    "workspace",
]

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
