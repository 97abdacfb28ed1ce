from .builtin import BUILT_IN as BUILT_IN
from .catalog import CATALOG as CATALOG
from .catalog import STUDY as STUDY
from .catalog import CatalogEntry as CatalogEntry
from .contact_sheet import save_contact_sheet as save_contact_sheet
from .describe import (
    details as details,
)
from .describe import (
    summary as summary,
)
from .describe import (
    view_details as view_details,
)
from .describe import (
    view_rows as view_rows,
)
from .describe import (
    view_summary as view_summary,
)
from .ingest import add_dataset as add_dataset
from .library import inventory as inventory
from .library import load_dataset as load_dataset
from .library import present as present
from .packed.dataset import Labels as Labels
from .packed.dataset import PackedDataset as PackedDataset
from .packed.images import Images as Images
from .packed.kept import keep_labels as keep_labels
from .packed.kept import reading_kept as reading_kept
from .packed.manifest import copy_manifest as copy_manifest
from .packed.meta import Split as Split
from .packed.root import (
    data_root as data_root,
)
from .packed.root import (
    dataset_folder as dataset_folder,
)
from .packed.root import (
    publish as publish,
)
from .packed.root import (
    workspace as workspace,
)
from .packing.packing import Origin as Origin
from .packing.packing import pack as pack
from .readers.listing import Example as Example
from .readers.listing import Listing as Listing
from .seeded import seeded_order as seeded_order
from .seeded import seeded_uniform as seeded_uniform
from .source.images import decode_image as decode_image
from .source.source import Choices as Choices
from .variants import ClassChoice as ClassChoice
from .variants import Variant as Variant
from .views import DatasetView as DatasetView
from .views import make_view as make_view
from .views import of_classes as of_classes
