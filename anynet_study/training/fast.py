"""The fast engine: a step that runs on the device alone, from tables made before the epoch."""

import numpy as np
import torch
from torch import Tensor, nn

from anynet_study.data import DatasetView
from anynet_study.training.augment import Preprocessor, draws_per_image, epoch_tables
from anynet_study.training.cuda.graphs import Program
from anynet_study.training.cuda.together import Turns
from anynet_study.training.feeds import DeviceImages
from anynet_study.training.metrics import Tally, final_error, predicted, training_loss
from anynet_study.training.network import Weights, arrange, initial_network, training_mode
from anynet_study.training.optimizers import Update
from anynet_study.training.options import Options
from anynet_study.training.recipe import ResolvedRecipe, learning_rate, steps_per_epoch
from anynet_study.training.spec import RunSpec
from anynet_study.training.trainer import PassResult, State, Values, even_batches


class FastTrainer:
    """One run, a step at a time.

    A step finds its images, crops, flips and learning rate at a counter that lives on the device
    and counts itself: the host only says "again", by a CUDA graph where there is one.
    """

    def __init__(
        self,
        spec: RunSpec,
        view: DatasetView,
        images: DeviceImages,
        options: Options,
        weights: Weights | None = None,
    ) -> None:
        self.spec, self.recipe, self.view = spec, spec.recipe, view
        self.device = device = images.device
        self.steps = steps_per_epoch(len(view.train_index), self.recipe.batch_size)
        self.batch = min(len(view.train_index), self.recipe.batch_size)
        self.contiguous = not options.keeps_channels_last(device.type)
        network = initial_network(spec, len(view.classes), weights)
        self.model = arrange(network, self.recipe, device, options)
        self.lr = torch.zeros((), device=device)
        self.update = Update(self.recipe, self.model.parameters(), self.lr)
        self.preprocess = Preprocessor(self.recipe, view.mean, view.std, device)
        self._make_tables(images, options)
        self.program = Program(options.records_graphs(device.type))
        self.tests = TestPass(
            view, self.recipe, self.model, self.preprocess, images, options, self.program
        )

    def _make_tables(self, images: DeviceImages, options: Options) -> None:
        steps, batch, device = self.steps, self.batch, self.device
        self.feed = images.feed(self.view, "train", steps, batch, options.resident)
        self._index = torch.from_numpy(self.view.train_index)
        self._truth = torch.from_numpy(self.view.train_labels)
        shape = (steps, batch, *self._truth.shape[1:])
        self.labels = torch.zeros(shape, dtype=self._truth.dtype, device=device)
        self.draws = torch.zeros(steps, draws_per_image(self.recipe), batch, device=device)
        self.rates = torch.zeros(steps, device=device)
        self.counter = torch.zeros(1, dtype=torch.int64, device=device)
        self.tally = Tally(device)

    def begin_epoch(self, epoch: int, steps_done: int = 0) -> None:
        tables = epoch_tables(self.spec, len(self.view.train_index), self.view.size, epoch)
        self.feed.begin(self._index[tables.order])
        self.labels.copy_(self._truth[tables.order])
        self.draws.copy_(tables.draws)
        first = epoch * self.steps
        self.rates.copy_(
            torch.tensor(
                [learning_rate(self.recipe, first + n, self.steps) for n in range(self.steps)]
            )
        )
        self.counter.fill_(steps_done)
        self._done = steps_done
        if steps_done == 0:
            self.tally.sums.zero_()
        training_mode(self.model, self.spec)

    def step(self) -> None:
        self.feed.advance(self._done)
        self.program(self._step, self._changed)
        self._done += 1

    def _step(self) -> None:
        pixels, rows = self.feed.batch(self.counter)
        labels = self.labels.index_select(0, self.counter)[0]
        draws = self.draws.index_select(0, self.counter)[0]
        self.lr.copy_(self.rates.index_select(0, self.counter)[0])
        self.update.zero_grad()
        parts = self.recipe.accumulation
        for part in zip(rows.chunk(parts), draws.chunk(parts, 1), labels.chunk(parts), strict=True):
            self._gradients(pixels, *part)
        self.update.step()
        self.counter += 1

    def _gradients(self, pixels: Tensor, rows: Tensor, draws: Tensor, labels: Tensor) -> None:
        batch = self.preprocess.train(pixels, rows, draws)
        logits = self.model(batch.contiguous() if self.contiguous else batch).float()
        loss = training_loss(logits, labels, self.recipe.label_smoothing)
        (loss / self.recipe.accumulation).backward()
        self.tally.add(logits, labels, loss)

    def trained(self) -> Values:
        return self.tally.result(self._done * self.batch)

    def test(self) -> Turns[PassResult]:
        return self.tests.turns()

    def state(self) -> State:
        return {
            "model": self.model.state_dict(),
            "update": self.update.state(),
            "sums": self.tally.sums,
        }

    def restore(self, state: State) -> None:
        """Copied into the tensors that are there: a recorded graph knows no others."""
        self.model.load_state_dict(state["model"])
        self.tally.sums.copy_(state["sums"])
        for tensor, kept in zip(self.update.state(), state["update"], strict=True):
            tensor.copy_(kept)

    def _changed(self) -> list[Tensor]:
        weights = [*self.model.parameters(), *self.model.buffers()]
        return [*weights, *self.update.state(), self.lr, self.counter, self.tally.sums]


class TestPass:
    """The test set of a view, and the batch that is its turn, by a counter on the device."""

    def __init__(
        self,
        view: DatasetView,
        recipe: ResolvedRecipe,
        model: nn.Module,
        preprocess: Preprocessor,
        images: DeviceImages,
        options: Options,
        beside: Program,
    ) -> None:
        device = images.device
        self.model, self.preprocess = model, preprocess
        self.metric, self.classes = recipe.metric, len(view.classes)
        self.truth, self.images = view.test_labels, len(view.test_index)
        self.steps, self.batch = even_batches(self.images)
        self.contiguous = not options.keeps_channels_last(device.type)
        self.graph = options.records_graphs(device.type)
        self.feed = images.feed(view, "test", self.steps, self.batch, options.resident)
        self.rows = self._filled(view.test_index, 0)
        # Where images have several classes there is a number for each: they are kept small.
        kind = torch.int8 if view.multi_label else torch.int64
        self.labels = self._filled(view.test_labels, -1).to(device, kind)
        self.counter = torch.zeros(1, dtype=torch.int64, device=device)
        self.guesses = torch.zeros_like(self.labels)
        shape = (self.steps, self.batch, self.classes) if self.metric == "auroc" else (0,)
        #: (steps, batch, classes) where the metric needs them.
        self.logits = torch.zeros(shape, device=device)
        self.tally = Tally(device)
        self.program = Program(self.graph, share_memory_with=beside)

    def turns(self) -> Turns[PassResult]:
        """Evaluate the model, which is left in evaluation mode; yields between steps."""
        self.model.eval()
        self.tally.sums.zero_()
        self.counter.zero_()
        self.feed.begin(self.rows)
        for step in range(self.steps):
            self.feed.advance(step)
            self.program(self._step, self._changed)
            yield
        several = self.truth.ndim == 2
        guesses = self.guesses.flatten(0, 1)[: self.images].cpu().numpy()
        predictions = guesses.astype(np.uint8 if several else np.uint16)
        logits = self.logits.flatten(0, 1)[: self.images] if len(self.logits) else None
        values = self.tally.result(self.images)
        error = final_error(self.metric, values, self.truth, predictions, self.classes, logits)
        return PassResult(values, predictions, error)

    @torch.no_grad()
    def _step(self) -> None:
        pixels, rows = self.feed.batch(self.counter)
        labels = self.labels.index_select(0, self.counter)[0]
        if not self.graph:  # a graph's batches are all of one size: fillers stay
            real = min(self.batch, self.images - int(self.counter) * self.batch)
            rows, labels = rows[:real], labels[:real]
        batch = self.preprocess.test(pixels, rows)
        logits = self.model(batch.contiguous() if self.contiguous else batch).float()
        self.tally.add(logits, labels)
        self._keep(self.guesses, predicted(logits, self.truth.ndim == 2))
        if len(self.logits):
            self._keep(self.logits, logits)
        self.counter += 1

    def _keep(self, table: Tensor, values: Tensor) -> None:
        """Put the values of a batch at its place in a table (steps, batch, ...)."""
        batch = torch.zeros_like(table[:1])
        batch[0, : len(values)] = values
        table.index_copy_(0, self.counter, batch)

    def _changed(self) -> list[Tensor]:
        return [self.counter, self.guesses, self.logits, self.tally.sums]

    def _filled(self, values: np.ndarray, filler: int) -> Tensor:
        """(steps, batch, ...) int64 on the CPU, the end of the last batch filled."""
        shape = (self.steps * self.batch, *values.shape[1:])
        table = torch.full(shape, filler, dtype=torch.int64)
        table[: self.images] = torch.from_numpy(np.array(values, dtype=np.int64))
        return table.view(self.steps, self.batch, *values.shape[1:])
