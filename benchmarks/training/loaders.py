"""Where the plain loops take their batches from: (B, 3, R, R) float32, and labels (B,)."""

import os
from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from anynet_study.data import DatasetView, Split
from anynet_study.engine.training import Preprocessor, ResolvedRecipe

TEST_BATCH = 256
Pair = tuple[Tensor, Tensor]


class Batches(Protocol):
    """A dataset, to be passed over many times."""

    def train(self) -> Iterator[Pair]:
        """An epoch of augmented training batches, in a new order."""

    def test(self) -> Iterator[Pair]:
        """All test images once."""


class Images(Dataset[tuple[Tensor, int]]):
    """One image at a time, transformed one at a time."""

    def __init__(self, view: DatasetView, split: Split, recipe: ResolvedRecipe) -> None:
        self.pixels, self.recipe, self.augmented = view.images(split), recipe, split == "train"
        self.index = view.train_index if split == "train" else view.test_index
        self.labels = view.train_labels if split == "train" else view.test_labels
        self.mean = torch.tensor(view.mean, dtype=torch.float32)[:, None, None]
        self.std = torch.tensor(view.std, dtype=torch.float32)[:, None, None]

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        image = torch.tensor(self.pixels[self.index[place]]).permute(2, 0, 1).float() / 255
        image = (image - self.mean) / self.std
        if self.augmented:
            image = F.pad(image, (self.recipe.padding,) * 4)
            top, left = torch.randint(2 * self.recipe.padding + 1, (2,)).tolist()
            side = self.recipe.resolution
            image = image[:, top : top + side, left : left + side]
            if self.recipe.flip and torch.rand(()) < 0.5:
                image = image.flip(2)
        return image, int(self.labels[place])


class Loaded:
    """torch's DataLoader with a worker a core."""

    def __init__(self, view: DatasetView, recipe: ResolvedRecipe, device: torch.device) -> None:
        self.device = device
        workers = len(os.sched_getaffinity(0))
        how = {"num_workers": workers, "persistent_workers": True, "pin_memory": _is_gpu(device)}
        self._train = DataLoader(
            Images(view, "train", recipe),
            batch_size=recipe.batch_size,
            shuffle=True,
            drop_last=True,
            **how,  # type: ignore[arg-type]
        )
        self._test = DataLoader(Images(view, "test", recipe), batch_size=TEST_BATCH, **how)  # type: ignore[arg-type]

    def train(self) -> Iterator[Pair]:
        return self._moved(self._train)

    def test(self) -> Iterator[Pair]:
        return self._moved(self._test)

    def _moved(self, loader: "DataLoader[tuple[Tensor, int]]") -> Iterator[Pair]:
        for images, labels in loader:
            yield images.to(self.device, non_blocking=True), labels.to(self.device)


class Resident:
    """All images on the device; the fast engine's own bulk augmentation.

    On a CPU in channels-last memory, in which plain networks are quicker.
    """

    def __init__(self, view: DatasetView, recipe: ResolvedRecipe, device: torch.device) -> None:
        self.batch = recipe.batch_size
        self.order = torch.contiguous_format if _is_gpu(device) else torch.channels_last
        self.preprocess = Preprocessor(recipe, view.mean, view.std, device)
        self.pixels = {
            "train": torch.tensor(view.images("train")[view.train_index]).to(device),
            "test": torch.tensor(view.images("test")[view.test_index]).to(device),
        }
        self.labels = {
            "train": torch.tensor(view.train_labels).to(device),
            "test": torch.tensor(view.test_labels).to(device),
        }

    def train(self) -> Iterator[Pair]:
        pixels, labels = self.pixels["train"], self.labels["train"]
        order = torch.randperm(len(labels), device=labels.device)
        for rows in order.split(self.batch)[: len(labels) // self.batch]:
            draws = torch.rand(3, len(rows), device=labels.device)
            images = self.preprocess.train(pixels, rows, draws)
            yield images.contiguous(memory_format=self.order), labels[rows]

    def test(self) -> Iterator[Pair]:
        pixels, labels = self.pixels["test"].split(TEST_BATCH), self.labels["test"]
        for images, truth in zip(pixels, labels.split(TEST_BATCH), strict=True):
            yield self.preprocess.test(images).contiguous(memory_format=self.order), truth


def _is_gpu(device: torch.device) -> bool:
    return device.type == "cuda"


LOADERS: dict[str, type[Loaded] | type[Resident]] = {"loader": Loaded, "resident": Resident}
