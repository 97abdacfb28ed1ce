"""The reference engine: what a run is, said as plainly as a loop can say it.

Image by image, layer by layer, with torch's own layers and update rules, in float32 unless the
recipe states bfloat16; on whatever device, slow. The fast engine is tested against it.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from anynet_study.data import DatasetView, Tested
from anynet_study.engine.training.augment import central_box, epoch_tables, mixed, operator_draws
from anynet_study.engine.training.checkpoint import Weights
from anynet_study.engine.training.metrics import Tally
from anynet_study.engine.training.network import (
    arrange_as_defined,
    initial_network,
    training_mode,
)
from anynet_study.engine.training.operators import Draws
from anynet_study.engine.training.optimizers import make_optimizer
from anynet_study.engine.training.options import largest_batch
from anynet_study.engine.training.passes import even_batches
from anynet_study.engine.training.recipe import learning_rate
from anynet_study.engine.training.spec import RunSpec
from anynet_study.engine.training.trainer import State, Trainer
from anynet_study.engine.training.transforms import augmented


class ReferenceTrainer(Trainer):
    """One run, a step at a time."""

    def __init__(
        self, spec: RunSpec, view: DatasetView, device: torch.device, weights: Weights | None = None
    ) -> None:
        super().__init__(spec, view, device)
        self.model = initial_network(spec, view, weights).to(device)
        arrange_as_defined(self.model, spec.recipe)
        self.optimizer = make_optimizer(self.recipe, self.model.parameters(), self.recipe.lr)
        self.mean = torch.tensor(view.mean, dtype=torch.float32)
        self.std = torch.tensor(view.std, dtype=torch.float32)
        self.tally = Tally(device)

    def begin_epoch(self, epoch: int, steps_done: int = 0) -> None:
        self.epoch, self.done = epoch, steps_done
        images = len(self.view.train_index)
        self.tables = epoch_tables(self.spec, images, self.view.size, epoch)
        self.captions = self.texts.epoch(epoch, self.tables.order) if self.texts else None
        if steps_done == 0:
            self.tally = Tally(self.device)

    def step(self) -> None:
        training_mode(self.model, self.spec)
        rate = learning_rate(self.recipe, self.epoch * self.steps + self.done, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = torch.tensor(rate)  # in float32, as a device holds it
        parts = self.recipe.accumulation
        share = self.tables.mixes[self.done, -1].to(self.device) if self.recipe.mixing else None
        self.randomise("step", self.done)
        self.optimizer.zero_grad()
        texts = self.captions[self.done].chunk(parts) if self.captions is not None else ()
        for part, (chosen, batch) in enumerate(self._batches(self.done)):
            labels = torch.tensor(self.view.train_labels[chosen.numpy()]).to(self.device)
            logits = self.model(batch)
            read = texts[part].to(self.device) if texts else None
            loss = self.loss(logits, labels, read, share)
            (loss / parts).backward()
            self.tally.add(logits, labels, loss)
        self.optimizer.step()
        self.done += 1

    def norm_passes(self, steps: int) -> Iterator[None]:
        for step in range(steps):
            self.randomise("norms", step)
            for _, batch in self._batches(step):
                self.model(batch)
                yield

    def _batches(self, step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The parts of a step's batch: positions in the training split, and augmented images."""
        positions, draws = self.tables.order[step], self.tables.draws[step]
        operators = operator_draws(self.spec, self.epoch, step, len(positions))
        images = [
            self._augmented(int(position), draws[:, n], [its[n : n + 1] for its in operators])
            for n, position in enumerate(positions)
        ]
        parts = self.recipe.accumulation
        for chosen, part in zip(
            positions.chunk(parts), torch.stack(images).chunk(parts), strict=True
        ):
            batch = mixed(part, self.tables.mixes[step]) if self.recipe.mixing else part
            yield chosen, batch.to(self.device)

    def logits(self, part: Tested) -> Iterator[Tensor]:
        split, index, _ = self.view.part(part)
        _, size = even_batches(len(index), largest_batch(self.recipe.resolution, self.device.type))
        for first in range(0, len(index), size):
            images = self.view.images(split)[index[first : first + size]]
            batch = torch.stack([self._centre(self._normalised(image)) for image in images])
            with torch.no_grad():
                logits = self.model(batch.to(self.device))
            yield logits

    def state(self) -> State:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "sums": self.tally.sums,
            **self.selection.state(),
        }

    def restore(self, state: State) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.tally.sums.copy_(state["sums"])
        self.selection.restore(state)

    def _normalised(self, image: np.ndarray) -> Tensor:
        """(H, W, 3) uint8 to (3, H + 2p, W + 2p): mean 0, deviation 1, padded with zeros."""
        pixels = torch.tensor(image).float() * (1.0 / (255.0 * self.std)) + -self.mean / self.std
        return F.pad(pixels.permute(2, 0, 1), (self.recipe.padding,) * 4)

    def _augmented(self, position: int, draw: Tensor, chances: list[Draws]) -> Tensor:
        stored = torch.tensor(self.view.images("train")[self.view.train_index[position]])
        (changed,) = augmented(stored[None], self.recipe.operators, chances)
        image = self._normalised(changed.numpy())
        side = self.recipe.resolution
        cut = self._centre(image)
        if self.recipe.crop == "resized":
            top, left, _, height, width = (int(number) for number in draw)
            cut = self._resized(image, top, left, height, width)
        elif self.recipe.crop != "none":
            places = image.shape[1] - side + 1
            top = min(int(draw[0] * places), places - 1)
            left = min(int(draw[1] * places), places - 1)
            cut = image[:, top : top + side, left : left + side]
        return cut.flip(2) if self.recipe.flip and draw[2] < 0.5 else cut

    def _resized(self, image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
        """A box made as large as the network's input: bilinear, of no pixel outside the box.

        Where it is made smaller, pixels are averaged.
        """
        side = self.recipe.resolution
        box = image[None, :, top : top + height, left : left + width].double()
        return F.interpolate(box, (side, side), mode="bilinear", antialias=True)[0].float()

    def _centre(self, image: Tensor) -> Tensor:
        side = self.recipe.resolution
        if self.recipe.test_crop is not None:
            top, left, *size = central_box(self.view.size, self.recipe.test_crop)
            padding = self.recipe.padding
            return self._resized(image, top + padding, left + padding, *size)
        first = (image.shape[1] - side) // 2
        return image[:, first : first + side, first : first + side]
