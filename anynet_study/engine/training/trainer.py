"""The interface of an engine, as the loop over epochs calls it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import f1_thresholds
from anynet_study.data import DatasetView, Tested
from anynet_study.design_space import Architecture
from anynet_study.engine.training.metrics import Tally, grade_loss, training_loss
from anynet_study.engine.training.passes import PassResult, PassSums
from anynet_study.engine.training.recipe import ResolvedRecipe, steps_per_epoch
from anynet_study.engine.training.spec import RunSpec
from anynet_study.engine.training.together import Turns
from anynet_study.engine.training.zero_shot import TextTable, ZeroShot, name_of_head

#: Loss, top-1 error and top-5 error (percent).
Values = tuple[float, float, float]
State = dict[str, Any]


class Selection:
    """Early stopping and the choice of weights, both by errors on validation images alone."""

    def __init__(self, recipe: ResolvedRecipe) -> None:
        self._recipe = recipe
        #: The lowest error so far, and the first epoch that had it.
        self.error, self.epoch = float("inf"), -1
        #: The weights after that epoch, if the recipe keeps them.
        self.weights: dict[str, Tensor] | None = None

    def look(self, epoch: int, error: float, network: nn.Module) -> None:
        """Take note of the error after 0-based `epoch`."""
        if error < self.error:
            self.error, self.epoch = error, epoch
            if self._recipe.select == "best":
                state = network.state_dict()
                self.weights = {name: value.detach().clone() for name, value in state.items()}

    def ends(self, epochs: int) -> bool:
        """Tell whether the run ends after `epochs` epochs: the error has not fallen for
        `patience`.
        """
        patience = self._recipe.patience
        return patience is not None and epochs - 1 - self.epoch >= patience and self.epoch >= 0

    def state(self) -> State:
        """For a checkpoint; nothing where nothing is selected."""
        if not self._recipe.validates:
            return {}
        chosen = {"error": self.error, "epoch": self.epoch, "weights": self.weights}
        return {"selection": chosen}

    def restore(self, state: State) -> None:
        """Take up what `state` gave, among what else there is in a checkpoint."""
        if self._recipe.validates:
            chosen = state["selection"]
            self.error, self.epoch = chosen["error"], chosen["epoch"]
            self.weights = chosen["weights"]


class Trainer(ABC):
    """One network, its optimiser and its data; a step at a time."""

    #: The network, whose weights have the names that they have in every engine.
    model: nn.Module
    tally: Tally
    #: This epoch, from 0, and the steps done of it.
    epoch: int
    done: int

    def __init__(self, spec: RunSpec, view: DatasetView, device: torch.device) -> None:
        self.spec, self.recipe, self.view, self.device = spec, spec.recipe, view, device
        #: Steps of an epoch, and images of a step.
        self.steps = steps_per_epoch(len(view.train_index), self.recipe.batch_size)
        self.batch = min(len(view.train_index), self.recipe.batch_size)
        self.selection = Selection(self.recipe)
        #: The last epoch after which this process has settled the norms.
        self.settled = -1
        #: The images that are not trained on: those of tests, and of validation where it is asked.
        self.parts: list[Tested] = ["test", "validation"] if self.recipe.validates else ["test"]
        metric, classes = self.recipe.metric, len(view.classes)
        self.sums = {
            part: PassSums(view.part(part)[2], metric, classes, device) for part in self.parts
        }
        #: Of loss clip.
        self.texts = TextTable(spec, view) if self.recipe.loss == "clip" else None

    @abstractmethod
    def begin_epoch(self, epoch: int, steps_done: int = 0) -> None:
        """Prepare 0-based `epoch`, of which `steps_done` steps have been trained already."""

    @abstractmethod
    def step(self) -> None:
        """Train one step."""

    @abstractmethod
    def norm_passes(self, steps: int) -> Iterator[None]:
        """Run the network, in training mode, on the first `steps` batches of this epoch.

        Batches are augmented and divided into parts as in training. Yields after each part, when
        the batch norms hold the statistics of that part.
        """

    @abstractmethod
    def logits(self, part: Tested) -> Iterator[Tensor]:
        """Yield the logits (B, classes) of each batch of test or validation images."""

    def test_batches(self, part: Tested, sums: PassSums) -> Iterator[None]:
        """Add test or validation images to `sums`; pauses after each batch."""
        for logits in self.logits(part):
            sums.add(logits)
            yield

    @abstractmethod
    def state(self) -> State:
        """Return all that a checkpoint needs: weights, optimiser, this epoch's sums, selection."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Load a `state` of the same run."""

    def loss(
        self, logits: Tensor, labels: Tensor, texts: Tensor | None, share: Tensor | None
    ) -> Tensor:
        """The loss of a batch, which training minimises; `logits` are the network's last ones.

        `texts` (N, words): the texts of the images, for loss clip. `share`: as in `training_loss`.
        """
        if self.recipe.loss == "l1":
            return grade_loss(logits, labels, share)
        if texts is None:
            return training_loss(logits, labels, self.recipe.label_smoothing, share)
        head = self.model.get_submodule(name_of_head(self.model))
        assert isinstance(head, ZeroShot)
        return head.loss(texts)

    def randomise(self, purpose: str, number: int) -> None:
        """Seed torch's generator for one step of this epoch, if the network may draw from it.

        Networks that are no AnyNet may, as for dropout; an AnyNet never does.
        """
        if not isinstance(self.spec.architecture, Architecture):
            torch.manual_seed(self.spec.seed_for(purpose, self.epoch, number))

    def trained(self) -> Values:
        """Return loss and errors, averaged over the steps of this epoch."""
        return self.tally.result(self.done * self.batch)

    def settle_norms(self) -> Turns[None]:
        """Estimate the statistics of batch norms if the recipe has `precise_bn`; yields in between.

        Whoever looks at the network after an epoch calls this first; it is done once an epoch.
        Training normalises each batch by its own statistics, so it does not depend on these.
        """
        if self.recipe.precise_bn and self.settled != self.epoch:
            self.settled = self.epoch
            steps = min(-(-self.recipe.precise_bn // self.batch), self.steps)
            yield from precise_statistics(self.model, self.norm_passes(steps))

    def test(self, part: Tested = "test") -> Turns[PassResult]:
        """Evaluate the weights as they are on images not trained on; yields between steps."""
        self.model.eval()
        sums = self.sums[part]
        sums.begin()
        yield from self.test_batches(part, sums)
        return sums.result()

    def validate(self, epoch: int) -> Turns[None]:
        """Look at the validation images after 0-based `epoch`, if the recipe does."""
        if self.recipe.validates:
            yield from self.settle_norms()
            validated = yield from self.test("validation")
            self.selection.look(epoch, validated.error, self.model)

    def set_thresholds(self) -> Turns[None]:
        """Shift the head's biases as `thresholds: validation` asks; yields between batches.

        UserError where the head has none.
        """
        self.model.eval()
        head = self.model.get_submodule(name_of_head(self.model))
        if not isinstance(head.bias, Tensor):
            raise UserError("thresholds: validation: the network's last layer has no biases")
        found = []
        for logits in self.logits("validation"):
            found.append(logits.double().cpu().numpy())
            yield
        moved = f1_thresholds(np.concatenate(found), self.view.validation_labels)
        with torch.no_grad():
            head.bias -= torch.from_numpy(moved).to(head.bias)

    def take_selected(self) -> bool:
        """Load the selected weights, if there are any; return whether there are."""
        if self.selection.weights is None:
            return False
        self.model.load_state_dict(self.selection.weights)
        return True


@torch.no_grad()
def precise_statistics(network: nn.Module, passes: Iterator[None]) -> Turns[None]:
    """Set the statistics of batch norms to their means over batches; yields after each.

    Each step of `passes` runs the network on a batch in training mode. The variance of a batch is
    the unbiased one, as in the code base of the study and in the paper that introduced batch norm
    (Ioffe and Szegedy 2015, algorithm 2). With a momentum of 1, the running statistics are those
    of the last batch alone; afterwards the norms have their own momenta again.
    """
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    statistics = running_statistics(network)
    momenta = [norm.momentum for norm in norms]
    means = [torch.zeros_like(buffer) for buffer in statistics]
    if not means:
        return
    network.train()
    try:
        for norm in norms:
            norm.momentum = 1.0
        for number, _ in enumerate(passes):
            torch._foreach_lerp_(means, statistics, 1.0 / (number + 1))
            yield
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
    torch._foreach_copy_(statistics, means)


def running_statistics(network: nn.Module) -> list[Tensor]:
    """Running means and variances of all batch norms of a network that have them."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    buffers = [buffer for norm in norms for buffer in (norm.running_mean, norm.running_var)]
    return [buffer for buffer in buffers if buffer is not None]
