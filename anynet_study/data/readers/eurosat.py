"""EuroSAT: satellite images of 64 pixels in ten classes of land use."""

from anynet_study.data.readers.listing import Listing
from anynet_study.data.readers.named_folders import read_as
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder
from anynet_study.errors import UserError

LAYOUT = "EuroSAT"
CLASSES = {
    "AnnualCrop",
    "Forest",
    "HerbaceousVegetation",
    "Highway",
    "Industrial",
    "Pasture",
    "PermanentCrop",
    "Residential",
    "River",
    "SeaLake",
}


def recognises(source: Source, root: Folder) -> bool:
    """Its ten class folders, here or in a folder such as `2750`, `EuroSAT_RGB`, `EuroSAT_MS`."""
    return bool(_candidates(root))


def read(source: Source, root: Folder) -> Listing:
    """The RGB images; UserError where there are only the TIFFs of 13 bands."""
    for folder in _candidates(root):
        images = (inner.first_image() or "" for inner in folder.folders.values())
        if not any(image.lower().endswith((".tif", ".tiff")) for image in images):
            return read_as(LAYOUT, source, folder, root)
    raise UserError(
        f"{source.where(_candidates(root)[0].path)}: the TIFFs of 13 bands are not read; get the "
        "RGB images of EuroSAT (2750/ or EuroSAT_RGB/)"
    )


def _candidates(root: Folder) -> list[Folder]:
    return [folder for folder in (root, *root.folders.values()) if folder.folders.keys() == CLASSES]
