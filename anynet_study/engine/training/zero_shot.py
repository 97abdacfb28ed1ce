"""Learning from pairs of images and texts: a head that knows classes by what is said of them."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from anynet_study.data import DatasetView
from anynet_study.engine.models import head_name
from anynet_study.engine.training.spec import RunSpec
from anynet_study.engine.training.texts import Texts

#: The similarity of image and text is divided by a temperature that is learned: the first, and the
#: lowest (Radford et al. 2021, "Learning transferable visual models", section 2.5).
TEMPERATURE = 0.07
LOWEST = 0.01


class WordTower(nn.Module):
    """The plainest text tower: a sum of learned vectors, one for each word of a text.

    Rare words weigh more, by their inverse document frequency, so that texts differ by the names
    of classes from the beginning, and not by what all texts say.
    """

    weights: Tensor

    def __init__(self, texts: Texts, width: int, generator: torch.Generator) -> None:
        super().__init__()
        words = len(texts.vocabulary) + 1
        self.vectors = nn.Parameter(torch.empty(words, width))
        with torch.no_grad():
            self.vectors.normal_(0.0, width**-0.5, generator=generator)
        weights = torch.from_numpy(texts.weights).float()
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, texts: Tensor) -> Tensor:
        """(N, words) numbers of words to (N, width)."""
        weights = F.embedding(texts, self.weights[:, None])  # an index could not be recorded
        return (F.embedding(texts, self.vectors) * weights).sum(1)


class ZeroShot(nn.Module):
    """The head of a network that is trained on pairs of images and texts.

    It stands where the linear layer of a classifier does and gives logits of the run's classes,
    too: how similar an image is to the texts of each class (zero-shot classification).
    """

    prompts: Tensor

    def __init__(
        self, width: int, embedding: int, texts: Texts, generator: torch.Generator
    ) -> None:
        """`width`: of the features that it is given; `embedding`: of what is compared."""
        super().__init__()
        self.texts = WordTower(texts, embedding, generator)
        self.project = nn.Parameter(torch.empty(embedding, width))
        with torch.no_grad():
            self.project.normal_(0.0, width**-0.5, generator=generator)
        #: Logarithm of what similarities are multiplied by.
        self.scale = nn.Parameter(torch.tensor(-math.log(TEMPERATURE)))
        #: (classes, templates, words)
        self.register_buffer("prompts", torch.from_numpy(texts.prompts), persistent=False)
        self._images: Tensor | None = None

    def forward(self, features: Tensor) -> Tensor:
        """(N, width) to logits (N, classes); the images are remembered for `loss`."""
        self._images = F.normalize(features.float() @ self.project.T)
        described = F.normalize(self.texts(self.prompts.flatten(0, 1)))
        classes = F.normalize(described.unflatten(0, self.prompts.shape[:2]).mean(1))
        return self._factor() * self._images @ classes.T

    def loss(self, texts: Tensor) -> Tensor:
        """The contrastive loss of the images of the last forward pass and their texts (N, words).

        The mean of two cross-entropies, in nats: which text of the batch belongs to an image, and
        which image to a text. Another image with the same text counts as wrong, as in CLIP.
        """
        assert self._images is not None, "a forward pass comes first"
        similar = self._factor() * self._images @ F.normalize(self.texts(texts)).T
        self._images = None
        own = torch.arange(len(similar), device=similar.device)
        return (F.cross_entropy(similar, own) + F.cross_entropy(similar.T, own)) / 2

    def _factor(self) -> Tensor:
        return self.scale.clamp(max=-math.log(LOWEST)).exp()


def zero_shot_head(spec: RunSpec, view: DatasetView, width: int) -> ZeroShot:
    """The head of a run before it is trained; `width`: of the features that it is given."""
    generator = torch.Generator().manual_seed(spec.seed_for("text tower"))
    return ZeroShot(width, spec.recipe.embedding, Texts.of(view, spec.recipe), generator)


def name_of_head(network: nn.Module) -> str:
    """The name of the layer that puts out the classes, whatever the network's loss is."""
    found = [name for name, layer in network.named_modules() if isinstance(layer, ZeroShot)]
    return found[0] if found else head_name(network)


class TextTable:
    """The text with which each image is trained, epoch by epoch."""

    def __init__(self, spec: RunSpec, view: DatasetView) -> None:
        texts = Texts.of(view, spec.recipe)
        self._spec = spec
        self._trained, self._spans = torch.from_numpy(texts.trained), torch.from_numpy(texts.spans)

    def epoch(self, epoch: int, order: Tensor) -> Tensor:
        """(steps, batch, words) for the images at `order` (steps, batch), the same everywhere."""
        generator = torch.Generator().manual_seed(self._spec.seed_for("texts", epoch))
        draws = torch.rand(order.shape, generator=generator, dtype=torch.float64)
        first, count = self._spans[order].unbind(-1)
        chosen = torch.minimum((draws * count).long(), count - 1)
        return self._trained[first + chosen]
