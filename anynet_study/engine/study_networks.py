"""A study's images, its trained networks if their weights were kept, and features by their name."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from anynet_study.core.errors import UserError
from anynet_study.core.functions import open_function
from anynet_study.data import Images
from anynet_study.data.curation import FREQUENCIES, Extractor, low_frequencies
from anynet_study.engine.dispatch import OpenStudy, open_study

if TYPE_CHECKING:
    from torch import Tensor, nn

    from anynet_study.engine.training import Preprocessor, ResolvedRecipe

Indices = NDArray[np.int64]


def study_images(name: str) -> dict[str, tuple[Images, Indices]]:
    """The training images of each dataset of a study, and their rows, by the dataset's name."""
    views = open_study(name, whole=True).views
    return {label: (view.images("train"), view.train_index) for label, view in views.items()}


@dataclass(frozen=True)
class Network:
    """A network that classifies, and describes, packed images of any size."""

    model: "nn.Module"
    recipe: "ResolvedRecipe"
    #: (3,) mean and standard deviation of the colours of its training images, in units of 0..1.
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    classes: tuple[str, ...]
    #: By image side: the networks built for it.
    _preprocessors: dict[int, "Preprocessor"] = field(default_factory=dict)

    def features(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(images, features) of (images, size, size, 3): the input of the network's head.

        UserError where there is no head.
        """
        return self._run(images, head=False)

    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(images, classes) of the same."""
        return self._run(images, head=True)

    def _run(self, images: NDArray[np.uint8], head: bool) -> NDArray[np.float32]:
        import torch

        from anynet_study.engine.training import Preprocessor, name_of_head

        given: list[Tensor] = []
        name = name_of_head(self.model)
        if not name and not head:
            raise UserError("the network has no head, a linear layer: there are no features of it")

        side = images.shape[1]
        if side not in self._preprocessors:
            self._preprocessors[side] = Preprocessor(self.recipe, self.mean, self.std)
        with torch.no_grad():
            inputs = self._preprocessors[side].test(torch.from_numpy(np.array(images)))
            layer = self.model.get_submodule(name)
            hook = layer.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
            found = self.model(inputs)
            hook.remove()
            found = found if head else given[0].flatten(1)
        result: NDArray[np.float32] = found.float().numpy()
        return result


def open_extractor(text: str) -> Extractor:
    """The function that makes features: `frequencies`, MODULE:FUNCTION, or a study's network.

    A network is STUDY/RUN or a file of weights, see `open_network`; its features are the inputs of
    its head. A function gets (images, size, size, 3) uint8 and returns (images, features).
    UserError if there is none of this name.
    """
    if text == FREQUENCIES:
        return low_frequencies
    if ":" in text:
        return open_function(text, "--features")
    return open_network(text).features


def open_network(text: str) -> Network:
    """The network of STUDY/RUN, or of a file of weights in a study's folder, on the CPU.

    RUN is the id of a run, or its beginning. UserError where there is no such run, or its weights
    were not kept (`launch.keep`).
    """
    path = Path(text)
    if path.suffix == ".pt":
        folder, told = path.parent.parent, path.stem
    else:
        folder, told = path.parent, path.name
    if str(folder) in ("", "."):
        raise UserError(f"{text}: a network is STUDY/RUN, such as quickstart/0f3a (query has ids)")
    study = open_study(folder)
    kept = sorted(file.stem for file in study.folder.weights_folder.glob("*.pt"))
    if not kept:
        raise UserError(f"{folder}: no weights were kept; launch it with launch.keep=weights")
    found = [run for run in kept if run.startswith(told)]
    if len(found) != 1:
        there = ", ".join(kept[:5]) + (" ..." if len(kept) > 5 else "")
        raise UserError(
            f"{text}: {len(found)} runs begin with {told!r}; weights are there of {there}"
        )
    return _opened(study, found[0])


def _opened(study: OpenStudy, run_id: str) -> Network:
    from anynet_study.engine.training import load_weights, new_network

    run = study.plan.by_id.get(run_id)
    if run is None:
        raise UserError(f"{study.folder.folder}: {run_id} is no run of its sweep")
    path = study.folder.weights(run_id)
    weights = load_weights(path, run_id)
    if weights is None:
        raise UserError(f"{path}: the weights cannot be used")
    view = study.views[run.dataset]
    model = new_network(run.spec, view)
    model.load_state_dict(weights)
    model.eval()
    return Network(model, run.spec.recipe, view.mean, view.std, view.classes)
