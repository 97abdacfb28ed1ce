"""A pass over the test images, on the device alone."""

import numpy as np
import torch
from torch import Tensor, nn

from anynet_study.data import DatasetView
from anynet_study.metrics import Metric
from anynet_study.training.augment import Preprocessor
from anynet_study.training.graphs import Program
from anynet_study.training.losses import predicted
from anynet_study.training.metrics import Tally, final_error
from anynet_study.training.options import Options
from anynet_study.training.source import Source
from anynet_study.training.trainer import Tested, Testing

#: Most images in a batch of a test pass.
LARGEST_BATCH = 256


def even_batches(images: int, largest: int = LARGEST_BATCH) -> tuple[int, int]:
    """Number and size of the batches of a test pass: as few as can be, about equal in size."""
    count = -(-images // largest)
    return count, -(-images // count)


class TestPass:
    """The test set of a view, and the batch that is its turn, by a counter on the device."""

    def __init__(
        self,
        view: DatasetView,
        metric: Metric,
        model: nn.Module,
        preprocess: Preprocessor,
        source: Source,
        options: Options,
        beside: Program,
    ) -> None:
        device = source.device
        self.model, self.preprocess = model, preprocess
        self.metric, self.classes = metric, len(view.classes)
        self.truth, self.images = view.test_labels, len(view.test_index)
        self.steps, self.batch = even_batches(self.images)
        self.contiguous = not options.keeps_channels_last(device.type)
        self.graph = options.records_graphs(device.type)
        self.feed = source.feed(view, "test", self.steps, self.batch, options.resident)
        self.rows = self._filled(view.test_index, 0)
        # Of several classes an image a number each, small as it is for all of them.
        kind = torch.int8 if view.multi_label else torch.int64
        self.labels = self._filled(view.test_labels, -1).to(device, kind)
        self.counter = torch.zeros(1, dtype=torch.int64, device=device)
        self.guesses = torch.zeros_like(self.labels)
        shape = (self.steps, self.batch, self.classes) if metric == "auroc" else (0,)
        #: (steps, batch, classes) where the metric needs them.
        self.logits = torch.zeros(shape, device=device)
        self.tally = Tally(device)
        self.program = Program(self.graph, share_memory_with=beside)

    def turns(self) -> Testing:
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
        return Tested(values, predictions, error)

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
