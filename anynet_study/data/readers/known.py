"""The layouts that are known, from the most to the least specific."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from anynet_study.data.readers import (
    aptos,
    cassava,
    cct20,
    cifar10_1,
    cifar_binary,
    cifar_python,
    class_folders,
    concrete,
    csv_table,
    eurosat,
    ham10000,
    hpa,
    imagenet_devkit,
    imagenet_kaggle,
    imagenet_v2,
    insects,
    mlc_patches,
    mlc_points,
    objectnet,
    powerline,
    siim_isic,
    split_folders,
    wnid_shift,
)
from anynet_study.data.readers.listing import Listing
from anynet_study.data.source.source import Source
from anynet_study.data.source.tree import Folder


class Reader(NamedTuple):
    """One layout: its name, whether a folder has it, and what is in such a folder."""

    #: What `--layout` calls it.
    key: str
    layout: str
    recognises: Callable[[Source, Folder], bool]
    read: Callable[[Source, Folder], Listing]
    #: Which of the source's choices it heeds.
    choices: tuple[str, ...] = ()


def _reader(module: ModuleType) -> Reader:
    key = module.__name__.rpartition(".")[2].replace("_", "-")
    choices = getattr(module, "CHOICES", ())
    return Reader(key, module.LAYOUT, module.recognises, module.read, choices)


#: From the most to the least specific: the first that recognises a folder reads it.
READERS = tuple(
    map(
        _reader,
        (
            cifar_binary,
            cifar_python,
            cifar10_1,
            imagenet_kaggle,
            imagenet_devkit,
            imagenet_v2,
            wnid_shift,
            objectnet,
            ham10000,
            siim_isic,
            cassava,
            aptos,
            hpa,
            cct20,
            powerline,
            mlc_points,
            mlc_patches,
            eurosat,
            concrete,
            insects,
            split_folders,
            csv_table,
            class_folders,
        ),
    )
)
