"""The fast engine: a step that runs on the device alone, from tables made before the epoch."""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from anynet_study.data import DatasetView, Tested
from anynet_study.engine.training.augment import (
    Preprocessor,
    draws_per_image,
    epoch_tables,
    mixed,
    operator_draws,
)
from anynet_study.engine.training.checkpoint import Weights
from anynet_study.engine.training.feeds import DeviceImages, Feed
from anynet_study.engine.training.graphs import Programs
from anynet_study.engine.training.metrics import Tally
from anynet_study.engine.training.network import arrange, initial_network, training_mode
from anynet_study.engine.training.optimizers import Update
from anynet_study.engine.training.options import Options, largest_batch
from anynet_study.engine.training.passes import PassSums, even_batches
from anynet_study.engine.training.recipe import learning_rate
from anynet_study.engine.training.spec import RunSpec
from anynet_study.engine.training.trainer import State, Trainer, running_statistics
from anynet_study.engine.training.transforms import augmented


class FastTrainer(Trainer):
    """One run, a step at a time.

    A step reads its images, crops, flips and learning rate from tables on the device, in the row
    of a counter that is on the device as well and that each step raises. So the host only has to
    start the same step again: if there is a CUDA graph of it, by a replay.
    """

    def __init__(
        self,
        spec: RunSpec,
        view: DatasetView,
        images: DeviceImages,
        options: Options,
        weights: Weights | None = None,
    ) -> None:
        super().__init__(spec, view, images.device)
        device = self.device
        # Batches are made channels last; in float32 on a GPU, grouped convolutions lose by it.
        on_cpu = device.type == "cpu"
        self.contiguous = not (options.bfloat16 or (on_cpu and options.channels_last))
        network = initial_network(spec, view, weights)
        self.model = arrange(network, self.recipe, device, options)
        self.lr = torch.zeros((), device=device)
        self.update = Update(self.recipe, self.model.parameters(), self.lr)
        self.preprocess = Preprocessor(self.recipe, view.mean, view.std, device)
        self._make_tables(images, options)
        self.programs = Programs(options.graph and device.type == "cuda")

    def _make_tables(self, images: DeviceImages, options: Options) -> None:
        steps, batch, device = self.steps, self.batch, self.device
        self.feed = images.feed(self.view, "train", steps, batch, options.resident)
        self._truth = torch.from_numpy(self.view.train_labels)
        shape = (steps, batch, *self._truth.shape[1:])
        self.labels = torch.zeros(shape, dtype=self._truth.dtype, device=device)
        self.draws = torch.zeros(steps, draws_per_image(self.recipe), batch, device=device)
        #: As `EpochTables.mixes`, and the images of a step after the recipe's operators.
        self.mixes = torch.zeros(steps, 6, device=device)
        self.changed: Tensor | None = None
        if self.recipe.operators:
            side = self.view.size
            self.changed = torch.zeros(batch, side, side, 3, dtype=torch.uint8, device=device)
        self.places = torch.arange(batch, device=device)
        self.captions = None
        if self.texts is not None:
            order = torch.zeros(steps, batch, dtype=torch.int64)
            self.captions = torch.zeros_like(self.texts.epoch(0, order), device=device)
        self.rates = torch.zeros(steps, device=device)
        self.counter = torch.zeros(1, dtype=torch.int64, device=device)
        #: The batch of a pass that trains nothing.
        self.number = torch.zeros(1, dtype=torch.int64, device=device)
        self.tally = Tally(device)
        #: Statistics of batch norms after each part of a batch.
        parts = range(self.recipe.accumulation if self.recipe.precise_bn else 0)
        self.statistics = running_statistics(self.model)
        self.left = [[torch.zeros_like(it) for it in self.statistics] for _ in parts]
        #: The images that are not trained on, and batches and their size: the last may be smaller.
        self.tested: dict[Tested, tuple[Feed, int, int]] = {}
        for part in self.parts:
            tested = len(self.view.part(part)[1])
            most = largest_batch(self.recipe.resolution, device.type)
            count, size = even_batches(tested, most)
            places = torch.zeros(count, size, dtype=torch.int64)
            places.view(-1)[:tested] = torch.arange(tested)
            feed = images.feed(self.view, part, count, size, options.resident)
            feed.begin(places)
            self.tested[part] = feed, count, size

    def begin_epoch(self, epoch: int, steps_done: int = 0) -> None:
        tables = epoch_tables(self.spec, len(self.view.train_index), self.view.size, epoch)
        self.feed.begin(tables.order)
        self.labels.copy_(self._truth[tables.order])
        self.draws.copy_(tables.draws)
        if self.recipe.mixing:
            self.mixes.copy_(tables.mixes)
        if self.texts is not None and self.captions is not None:
            self.captions.copy_(self.texts.epoch(epoch, tables.order))
        first = epoch * self.steps
        self.rates.copy_(
            torch.tensor(
                [learning_rate(self.recipe, first + n, self.steps) for n in range(self.steps)]
            )
        )
        self.counter.fill_(steps_done)
        self.epoch, self.done = epoch, steps_done
        if steps_done == 0:
            self.tally.sums.zero_()
        training_mode(self.model, self.spec)

    def step(self) -> None:
        self._advance(self.done, self.counter)
        self.randomise("step", self.done)
        self.programs("step", self._step, self._changed)
        self.done += 1

    def _advance(self, number: int, step: Tensor) -> None:
        """Prepare the images of 0-based step `number` for `_batches`; `step` (1,) has that number.

        The operators of the recipe are applied here: they are not part of a CUDA graph.
        """
        self.feed.advance(number)
        if self.changed is not None:
            pixels, rows = self.feed.batch(step)
            draws = operator_draws(self.spec, self.epoch, number, self.batch)
            seen = pixels.index_select(0, rows)
            self.changed.copy_(augmented(seen, self.recipe.operators, draws))

    def _step(self) -> None:
        labels = self.labels.index_select(0, self.counter)[0]
        self.lr.copy_(self.rates.index_select(0, self.counter)[0])
        self.update.zero_grad()
        parts = labels.chunk(self.recipe.accumulation)
        texts: Sequence[Tensor | None] = [None] * len(parts)
        if self.captions is not None:
            texts = self.captions.index_select(0, self.counter)[0].chunk(len(parts))
        for batch, part, read in zip(self._batches(self.counter), parts, texts, strict=True):
            self._gradients(batch, part, read)
        self.update.step()
        self.counter += 1

    def _batches(self, step: Tensor) -> Iterator[Tensor]:
        """Yield the parts of the batch of `step` (1,), augmented."""
        pixels, rows = self.feed.batch(step)
        if self.changed is not None:
            pixels, rows = self.changed, self.places
        draws, mix = (table.index_select(0, step)[0] for table in (self.draws, self.mixes))
        parts = self.recipe.accumulation
        for part in zip(rows.chunk(parts), draws.chunk(parts, 1), strict=True):
            batch = self.preprocess.train(pixels, *part)
            yield mixed(batch, mix) if self.recipe.mixing else batch

    def _gradients(self, batch: Tensor, labels: Tensor, texts: Tensor | None) -> None:
        logits = self._logits(batch)
        share = self.mixes.index_select(0, self.counter)[0, -1] if self.recipe.mixing else None
        loss = self.loss(logits, labels, texts, share)
        (loss / self.recipe.accumulation).backward()
        self.tally.add(logits, labels, loss)

    def norm_passes(self, steps: int) -> Iterator[None]:
        for number in range(steps):
            self.number.fill_(number)
            self._advance(number, self.number)
            self.randomise("norms", number)
            self.programs("norms", self._norm_batch, self._changed_by_norms)
            for left in self.left:
                torch._foreach_copy_(self.statistics, left)
                yield

    def _norm_batch(self) -> None:
        for batch, left in zip(self._batches(self.number), self.left, strict=True):
            self._logits(batch)
            torch._foreach_copy_(left, self.statistics)

    def _logits(self, batch: Tensor) -> Tensor:
        logits: Tensor = self.model(batch.contiguous() if self.contiguous else batch)
        return logits.float()

    def logits(self, part: Tested) -> Iterator[Tensor]:
        for images in self._sizes(part):
            yield self._test_logits(part, images)

    def test_batches(self, part: Tested, sums: PassSums) -> Iterator[None]:
        _, _, size = self.tested[part]

        def batch(images: int) -> None:
            sums.add(self._test_logits(part, images))

        for images in self._sizes(part):
            if images == size:
                self.programs(part, partial(batch, size), sums.changes)
            else:  # the last one: a graph has one shape
                batch(images)
            yield

    def _sizes(self, part: Tested) -> Iterator[int]:
        """Prepare one batch of tests after the other; yields its number of images."""
        feed, count, size = self.tested[part]
        left = len(self.view.part(part)[1])
        for number in range(count):
            feed.advance(number)
            self.number.fill_(number)
            yield min(size, left)
            left -= size

    @torch.no_grad()
    def _test_logits(self, part: Tested, images: int) -> Tensor:
        """Return the logits of the first `images` images of the batch that is prepared."""
        pixels, rows = self.tested[part][0].batch(self.number)
        return self._logits(self.preprocess.test(pixels, rows[:images]))

    def state(self) -> State:
        return {
            "model": self.model.state_dict(),
            "update": self.update.state(),
            "sums": self.tally.sums,
            **self.selection.state(),
        }

    def restore(self, state: State) -> None:
        """Copied into the tensors that are there: a recorded graph knows no others."""
        self.model.load_state_dict(state["model"])
        self.tally.sums.copy_(state["sums"])
        for tensor, kept in zip(self.update.state(), state["update"], strict=True):
            tensor.copy_(kept)
        self.selection.restore(state)

    def _changed(self) -> list[Tensor]:
        weights = [*self.model.parameters(), *self.model.buffers()]
        return [*weights, *self.update.state(), self.lr, self.counter, self.tally.sums]

    def _changed_by_norms(self) -> list[Tensor]:
        return [*self.model.buffers(), *(buffer for left in self.left for buffer in left)]
