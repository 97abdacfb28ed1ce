"""Known datasets: what they are and where they come from.

Those of the study are in paper 1, section 3 and Table 1, those for transfer in paper 3, and the
test sets in papers 2 and 5. Counts are approximate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast

from anynet_study.core.metrics import Metric

Kind = Literal["study", "transfer", "budget", "test set"]


@dataclass(frozen=True)
class CatalogEntry:
    """One dataset."""

    name: str
    kind: Kind
    classes: int
    #: Approximate, training and test together.
    images: int
    #: Approximate: of the official split where there is one, else a fifth.
    test_images: int
    #: Height and width in pixels: the default for packing.
    size: int
    #: Groups of classes that it has of its own.
    superclasses: int
    licence: str
    #: Title to search for, and in which form it is accepted.
    source: str

    @property
    def packed_bytes(self) -> int:
        """Return what its pixels take on the disk."""
        return self.images * self.size**2 * 3


#: The fields of one dataset on two lines, in the order of `CatalogEntry`.
_TABLE = """\
concrete | study | 2 | 40000 | 8000 | 227 | 0 | CC BY 4.0
    'Concrete Crack Images for Classification'; extract its inner RAR yourself
mlc2008 | study | 9 | 43000 | 8600 | 312 | 0 | CC BY 4.0
    'Moorea Labeled Corals', the photos of 2008 with their points, or patches
imagenet | study | 1000 | 1331167 | 50000 | 256 | 0 | research, on registration
    ILSVRC 2012: its tars with the kit, as on Kaggle, or wnid folders
ham10000 | study | 7 | 10015 | 2003 | 296 | 0 | CC BY-NC 4.0
    'HAM10000', both image folders beside HAM10000_metadata
powerline | study | 2 | 8000 | 1600 | 128 | 0 | MIT
    'Powerline Image Dataset (Infrared-IR and Visible Light-VL)'
insects | study | 291 | 63364 | 12673 | 296 | 0 | see its record
    British carabids of the Natural History Museum London, one folder per species
natural | study | 6 | 17034 | 3000 | 150 | 0 | see its record
    'Intel Image Classification', with seg_train and seg_test
cifar10 | study | 10 | 60000 | 10000 | 32 | 0 | none stated
    'CIFAR-10', binary or python version, or as image folders
cifar100 | study | 100 | 60000 | 10000 | 32 | 20 | none stated
    'CIFAR-100', binary or python version, or as image folders
cct20 | transfer | 15 | 29380 | 15827 | 256 | 0 | CDLA Permissive
    'Caltech Camera Traps-20', its small images and annotation files
aptos | transfer | 5 | 3662 | 732 | 256 | 0 | rules of the competition
    'APTOS 2019 Blindness Detection', train.csv and train_images
hpa | transfer | 28 | 31072 | 6214 | 256 | 0 | rules of the competition
    'Human Protein Atlas Image Classification', train.csv and train
siim-isic | transfer | 2 | 33126 | 6625 | 256 | 0 | CC BY-NC 4.0
    'SIIM-ISIC 2020' training images as JPEG, and their table
cassava | transfer | 5 | 21397 | 4279 | 256 | 0 | rules of the competition
    'Cassava Leaf Disease Classification', with its names of diseases
eurosat | transfer | 10 | 27000 | 5400 | 64 | 0 | MIT
    'EuroSAT', the RGB images
openimages-100 | budget | 100 | 135000 | 27000 | 256 | 0 | CC BY 4.0, images CC BY 2.0
    'Open Images', photos of 100 classes of ImageNet in a folder for each, named by its number
imagenetv2 | test set | 1000 | 10000 | 10000 | 256 | 0 | MIT
    'ImageNetV2', one of its three sets
imagenet-sketch | test set | 1000 | 50889 | 50889 | 256 | 0 | see its record
    'ImageNet-Sketch'
imagenet-a | test set | 200 | 7500 | 7500 | 256 | 0 | MIT
    'ImageNet-A', of natural adversarial images
imagenet-r | test set | 200 | 30000 | 30000 | 256 | 0 | MIT
    'ImageNet-R', of renditions
objectnet | test set | 113 | 18574 | 18574 | 256 | 0 | its own: tests only
    'ObjectNet', extracted with its password
cifar10.1 | test set | 10 | 2000 | 2000 | 32 | 0 | MIT
    'CIFAR-10.1', its .npy files
"""


def _entry(line: str, source: str) -> CatalogEntry:
    name, kind, *counts, licence = line.split(" | ")
    classes, images, test_images, size, superclasses = map(int, counts)
    return CatalogEntry(
        name,
        cast(Kind, kind),
        classes,
        images,
        test_images,
        size,
        superclasses,
        licence,
        source.strip(),
    )


_LINES = _TABLE.splitlines()
_ENTRIES = [_entry(*pair) for pair in zip(_LINES[::2], _LINES[1::2], strict=True)]
#: By name, in the order of Table 1.
CATALOG: Mapping[str, CatalogEntry] = {entry.name: entry for entry in _ENTRIES}
#: Those whose images can have several classes each.
SEVERAL_LABELS = frozenset({"hpa"})
#: What is told of a dataset that is added under its name.
NOTES: Mapping[str, tuple[str, ...]] = {
    "concrete": (
        "the patches were cut from 458 photos and do not say which: patches of one photo are on "
        "both sides of the split",
    ),
    "insects": (
        "classes are species keys in the order of strings: label k is the k-th class listed here",
    ),
}
#: Those of the study.
STUDY = {name: entry for name, entry in CATALOG.items() if entry.kind == "study"}

#: The metric on which networks are usually judged, where it is not the accuracy, by the layout that
#: a dataset was recognised by: that of its competition (paper 3, 4.2 to 4.4).
USUAL_METRICS: Mapping[str, Metric] = MappingProxyType(
    {"APTOS 2019": "quadratic_kappa", "HPA": "macro_f1", "SIIM-ISIC": "auroc"}
)
