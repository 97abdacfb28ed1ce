"""The study's datasets: what they are and where they come from (paper 1, section 3, Table 1)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CatalogEntry:
    """One dataset of the study."""

    name: str
    classes: int
    #: Approximate, training and test together.
    images: int
    #: Approximate: of the official split where there is one, else a fifth.
    test_images: int
    #: Height and width in pixels in the study: the default for packing.
    size: int
    #: Title to search for, and in which form it is accepted.
    source: str
    licence: str


#: By name, in the order of Table 1.
STUDY = {
    entry.name: entry
    for entry in (
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
            "'Moorea Labeled Corals', the 2008 photos, cropped into one folder a class",
            "CC BY 4.0",
        ),
        CatalogEntry(
            "imagenet",
            1_000,
            1_331_167,
            50_000,
            256,
            "ILSVRC 2012 as train/ and val/ folders by wnid, or in its Kaggle layout",
            "non-commercial research, on registration",
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
        ),
    )
}
