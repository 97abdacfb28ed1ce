"""Known datasets: what they are and where they come from.

Those of the study are in paper 1, section 3 and Table 1, those for transfer in paper 3, and the
test sets in papers 2 and 5. Counts are approximate.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["study", "transfer", "test set"]
#: Of ImageNet and of what networks trained on it are tested on, in pixels.
IMAGENET_SIZE = 256


@dataclass(frozen=True)
class CatalogEntry:
    """One dataset."""

    name: str
    classes: int
    #: Approximate, training and test together.
    images: int
    #: Approximate: of the official split where there is one, else a fifth.
    test_images: int
    #: Height and width in pixels: the default for packing.
    size: int
    #: Title to search for, and in which form it is accepted.
    source: str
    licence: str
    kind: Kind = "study"
    #: Groups of classes that it has of its own.
    superclasses: int = 0

    @property
    def packed_bytes(self) -> int:
        """What its pixels take on the disk."""
        return self.images * self.size**2 * 3


def _by_name(entries: Iterable[CatalogEntry]) -> dict[str, CatalogEntry]:
    return {entry.name: entry for entry in entries}


#: By name, in the order of Table 1.
STUDY = _by_name(
    (
        CatalogEntry(
            "concrete",
            2,
            40_000,
            8_000,
            227,
            "'Concrete Crack Images for Classification'; extract its inner RAR yourself",
            "CC BY 4.0",
        ),
        CatalogEntry(
            "mlc2008",
            9,
            43_000,
            8_600,
            312,
            "'Moorea Labeled Corals', the photos of 2008 with their points, or patches",
            "CC BY 4.0",
        ),
        CatalogEntry(
            "imagenet",
            1_000,
            1_331_167,
            50_000,
            256,
            "ILSVRC 2012: its tars with the kit, as on Kaggle, or wnid folders",
            "research, on registration",
        ),
        CatalogEntry(
            "ham10000",
            7,
            10_015,
            2_003,
            296,
            "'HAM10000', both image folders beside HAM10000_metadata",
            "CC BY-NC 4.0",
        ),
        CatalogEntry(
            "powerline",
            2,
            8_000,
            1_600,
            128,
            "'Powerline Image Dataset (Infrared-IR and Visible Light-VL)'",
            "MIT",
        ),
        CatalogEntry(
            "insects",
            291,
            63_364,
            12_673,
            296,
            "British carabids of the Natural History Museum London, one folder a species",
            "see its record",
        ),
        CatalogEntry(
            "natural",
            6,
            17_034,
            3_000,
            150,
            "'Intel Image Classification', with seg_train and seg_test",
            "see its record",
        ),
        CatalogEntry(
            "cifar10",
            10,
            60_000,
            10_000,
            32,
            "'CIFAR-10', binary or python version, or as image folders",
            "none stated",
        ),
        CatalogEntry(
            "cifar100",
            100,
            60_000,
            10_000,
            32,
            "'CIFAR-100', binary or python version, or as image folders",
            "none stated",
            superclasses=20,
        ),
    )
)


def _transfer(
    name: str, classes: int, images: int, test_images: int, size: int, source: str, licence: str
) -> CatalogEntry:
    return CatalogEntry(name, classes, images, test_images, size, source, licence, "transfer")


#: The six of paper 3.
TRANSFER = _by_name(
    (
        _transfer(
            "cct20",
            15,
            57_000,
            15_000,
            256,
            "'Caltech Camera Traps-20', its small images and annotation files",
            "CDLA Permissive",
        ),
        _transfer(
            "aptos",
            5,
            3_662,
            732,
            256,
            "'APTOS 2019 Blindness Detection', train.csv and train_images",
            "rules of the competition",
        ),
        _transfer(
            "hpa",
            28,
            31_072,
            6_214,
            256,
            "'Human Protein Atlas Image Classification', train.csv and train",
            "rules of the competition",
        ),
        _transfer(
            "siim-isic",
            2,
            33_126,
            6_625,
            256,
            "'SIIM-ISIC 2020' training images as JPEG, and their table",
            "CC BY-NC 4.0",
        ),
        _transfer(
            "cassava",
            5,
            21_397,
            4_279,
            256,
            "'Cassava Leaf Disease Classification', with its names of diseases",
            "rules of the competition",
        ),
        _transfer("eurosat", 10, 27_000, 5_400, 64, "'EuroSAT', the RGB images", "MIT"),
    )
)


def _test_set(
    name: str, classes: int, images: int, source: str, licence: str, size: int = IMAGENET_SIZE
) -> CatalogEntry:
    return CatalogEntry(name, classes, images, images, size, source, licence, "test set")


#: For networks trained on ImageNet or CIFAR-10.
TEST_SETS = _by_name(
    (
        _test_set("imagenetv2", 1_000, 10_000, "'ImageNetV2', one of its three sets", "MIT"),
        _test_set("imagenet-sketch", 1_000, 50_889, "'ImageNet-Sketch'", "see its record"),
        _test_set("imagenet-a", 200, 7_500, "'ImageNet-A', of natural adversarial images", "MIT"),
        _test_set("imagenet-r", 200, 30_000, "'ImageNet-R', of renditions", "MIT"),
        _test_set(
            "objectnet",
            113,
            18_574,
            "'ObjectNet', extracted with its password",
            "its own: tests only",
        ),
        _test_set("cifar10.1", 10, 2_000, "'CIFAR-10.1', its .npy files", "MIT", 32),
    )
)

#: All of them.
CATALOG = STUDY | TRANSFER | TEST_SETS
