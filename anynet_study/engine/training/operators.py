"""Operators on images, in further evaluations and in training: operators and their parameters.

Imports no torch; `transforms` computes the operators.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_serializer, model_validator

Indices = NDArray[np.int64]
Draws = NDArray[np.float64]

# The 17 test-time transforms of paper 4 (appendix B.2) and their parameters, and jpeg.
#
# The paper names the transforms, not their parameters. These are the defaults of the usual library
# (torchvision) or, where it has none, moderate values of common use. Unlike there, each image is
# transformed, none left as it is by chance: as the error of a mixture is the mean of the errors,
# a mixture with the untouched images follows from these and the identity's.

TransformName = Literal[
    "identity",
    "blur",
    "sharpness",
    "affine",
    "colour_jitter",
    "contrast",
    "equalise",
    "grayscale",
    "horizontal_flip",
    "invert",
    "perspective",
    "posterise",
    "resized_crop",
    "rotation",
    "sharpness_change",
    "solarise",
    "vertical_flip",
    "jpeg",
]
Parameters = Mapping[str, Any]

#: Raised whenever a transform gives other pixels than before.
TRANSFORMS_VERSION = 1
#: Random numbers per image, whether a transform uses them or not.
DRAWS_PER_IMAGE = 8

#: Keyword arguments of the transform's function, documented there. Ranges are drawn from
#: uniformly, for each image anew.
TRANSFORMS: Mapping[TransformName, Parameters] = MappingProxyType(
    {
        "identity": {},
        "blur": {"sigma": [0.1, 2.0]},
        "sharpness": {"factor": [2.0, 2.0]},
        "affine": {"degrees": 30.0, "shift": 0.1, "scale": [0.8, 1.2]},
        "colour_jitter": {"spread": 0.4, "hue": 0.1},
        "contrast": {"factor": [0.1, 1.9]},
        "equalise": {},
        "grayscale": {},
        "horizontal_flip": {},
        "invert": {},
        "perspective": {"distortion": 0.5},
        "posterise": {"bits": 2},
        "resized_crop": {"area": [0.08, 1.0], "ratio": [0.75, 4 / 3]},
        "rotation": {"degrees": 30.0},
        "sharpness_change": {"factor": [0.1, 1.9]},
        "solarise": {"threshold": 128},
        "vertical_flip": {},
        "jpeg": {"quality": 10},
    }
)

# In training the same operators are applied by chance, and there are some more.

#: A transform, its parameters, the images (n,), and their draws (n, DRAWS_PER_IMAGE).
Done = tuple[TransformName, Parameters, Indices, Draws]

#: What mixes two images of a batch, and their targets.
MIXING = ("mixup", "cutmix")
OPERATORS: Mapping[str, Parameters] = MappingProxyType(
    {
        **{name: TRANSFORMS[name] for name in get_args(TransformName) if name != "identity"},
        # `number` operators drawn for each image, at a `magnitude` of 30.
        "randaugment": {"number": 2, "magnitude": 9},
        # The image mixed with as many `chains` of 1 to `depth` operators, at a `magnitude` of 30;
        # `alpha` is that of the Dirichlet and beta distributions of their shares.
        "augmix": {"chains": 3, "depth": 3, "magnitude": 9, "alpha": 1.0},
        # The share of the image itself is drawn from a beta distribution with alpha twice.
        "mixup": {"alpha": 0.2},
        "cutmix": {"alpha": 1.0},
    }
)
#: By default these, in which nothing else is random, are applied to half of the images.
TO_HALF = (
    *("sharpness", "equalise", "grayscale", "horizontal_flip", "invert", "posterise", "solarise"),
    "vertical_flip",
    "jpeg",
)
#: What AugMix draws from: of its paper's, those that `drawn_among` has.
AUGMIX_AMONG: tuple[TransformName, ...] = (
    "equalise",
    "rotation",
    "affine",
    "perspective",
    "posterise",
    "solarise",
)
#: Least and largest legal value of each parameter, and those that are whole numbers.
LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "probability": (0, 1),
        "sigma": (0.05, 2),
        "factor": (0, 10),
        "degrees": (0, 180),
        "shift": (0, 1),
        "scale": (0.1, 10),
        "spread": (0, 1),
        "hue": (0, 0.5),
        "distortion": (0, 0.9),
        "bits": (1, 8),
        "area": (0.01, 1),
        "ratio": (0.1, 10),
        "threshold": (0, 255),
        "number": (1, 16),
        "magnitude": (0, 30),
        "alpha": (0.01, 100),
        "quality": (1, 100),
        "chains": (1, 8),
        "depth": (1, 8),
    }
)
WHOLE = ("bits", "threshold", "number", "magnitude", "quality", "chains", "depth")


class Operator(BaseModel):
    """An operator of a recipe: its name alone, or `{name: {parameter: value, probability: p}}`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    #: Share of the images that it is applied to; of batches, where it mixes images.
    probability: float
    #: All of them, by name, in a fixed order.
    parameters: tuple[tuple[str, int | float | tuple[float, float]], ...]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, stated: Any) -> Any:
        if isinstance(stated, Operator):
            return stated
        named = {stated: {}} if isinstance(stated, str) else stated
        if not isinstance(named, Mapping) or len(named) != 1:
            raise ValueError("an operator is its name, or one name with its parameters: {blur: {}}")
        ((name, given),) = named.items()
        if name not in OPERATORS:
            raise ValueError(f"no operator {name}; legal: {', '.join(OPERATORS)}")
        if not isinstance(given := given or {}, Mapping):
            raise ValueError(f"{name}: its parameters are a mapping of keys")
        usual = {**OPERATORS[name], "probability": 0.5 if name in TO_HALF else 1.0}
        for key in given:
            if key not in usual:
                raise ValueError(f"{name}: no parameter {key}; legal: {', '.join(usual)}")
        values = {key: _checked(name, key, {**usual, **given}[key]) for key in usual}
        probability = values.pop("probability")
        return {"name": name, "probability": probability, "parameters": tuple(values.items())}

    @model_serializer
    def _stated(self) -> dict[str, Any]:
        return {self.name: {**dict(self.parameters), "probability": self.probability}}

    @classmethod
    def __get_pydantic_json_schema__(cls, _: Any, __: Any) -> dict[str, Any]:
        named = {"type": "object", "minProperties": 1, "maxProperties": 1}
        keys = {"properties": {name: {"type": "object"} for name in OPERATORS}}
        named |= {**keys, "additionalProperties": False}
        return {"anyOf": [{"enum": list(OPERATORS)}, named]}

    @property
    def values(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self.parameters)

    @property
    def width(self) -> int:
        """Numbers drawn for each image: whether it is applied, and those of what is."""
        applied, each = 1, DRAWS_PER_IMAGE
        if self.name == "randaugment":
            return applied + int(self.values["number"]) * (1 + each)
        if self.name == "augmix":
            chain = 2 + int(self.values["depth"]) * (1 + each)
            return applied + 1 + int(self.values["chains"]) * chain
        return applied + each

    def chosen(self, draws: Draws) -> Iterator[Done]:
        """Yield what is done, one after the other, from `draws` (images, width) in [0, 1).

        A transform with its parameters, the images (n,), and their draws (n, DRAWS_PER_IMAGE). Not
        of augmix: see `chains`.
        """
        touched, rest = draws[:, 0] < self.probability, draws[:, 1:]
        if self.name != "randaugment":
            yield self._transform, self.values, np.flatnonzero(touched), rest[touched]
            return
        among = drawn_among(self.values["magnitude"])
        for part in np.split(rest, self.values["number"], axis=1):
            yield from _picked(among, part, touched)

    def chains(self, draws: Draws) -> tuple[Indices, Draws, list[list[Done]]]:
        """Choose for augmix the images (n,) that are touched, shares, and what each chain does.

        From `draws` (images, width) in [0, 1). The shares (n, 1 + chains) are of the image as it is
        and of the results of the chains; what chains do is as of `chosen`, of the n images.
        """
        from scipy.special import betaincinv, gammaincinv

        values, rows = self.values, np.flatnonzero(draws[:, 0] < self.probability)
        alpha, parts = values["alpha"], np.split(draws[rows, 2:], values["chains"], axis=1)
        own = betaincinv(alpha, alpha, draws[rows, 1])
        heights = np.stack([gammaincinv(alpha, part[:, 0]) for part in parts], axis=1)
        heights = np.maximum(heights, 1e-12)
        of_chains = (1 - own[:, None]) * heights / heights.sum(axis=1, keepdims=True)
        among = drawn_among(values["magnitude"])
        among = {name: among[name] for name in AUGMIX_AMONG}
        done: list[list[Done]] = []
        for part in parts:
            length = 1 + np.floor(part[:, 1] * values["depth"])
            links = np.split(part[:, 2:], values["depth"], axis=1)
            done.append(
                [one for at, link in enumerate(links) for one in _picked(among, link, at < length)]
            )
        return rows, np.column_stack([own, of_chains]), done

    @property
    def uses(self) -> Mapping[TransformName, float]:
        """Tell how often it applies each transform to an image, on average; not of what mixes."""
        if self.name == "augmix":
            links = self.values["chains"] * (1 + self.values["depth"]) / 2
            often = self.probability * links / len(AUGMIX_AMONG)
            return dict.fromkeys(AUGMIX_AMONG, often)
        if self.name != "randaugment":
            return {self._transform: self.probability}
        among = drawn_among(self.values["magnitude"])
        return dict.fromkeys(among, self.probability * self.values["number"] / len(among))

    @property
    def _transform(self) -> TransformName:
        return cast(TransformName, self.name)


def _picked(
    among: Mapping[TransformName, Parameters], draws: Draws, touched: NDArray[np.bool_]
) -> Iterator[Done]:
    """For each image that is `touched` one transform, by its first draw, with the others."""
    pick = (draws[:, 0] * len(among)).astype(int)
    for number, (name, parameters) in enumerate(among.items()):
        mine = touched & (pick == number)
        yield name, parameters, np.flatnonzero(mine), draws[mine, 1:]


def _checked(name: str, key: str, value: Any) -> float | tuple[float, float]:
    """A legal value of a parameter. Raises ValueError otherwise."""
    low, high = LIMITS[key]
    pair = isinstance(OPERATORS[name].get(key), list)
    legal = f"a {'whole ' if key in WHOLE else ''}number from {low:g} to {high:g}"
    if pair:
        legal = f"two numbers, the lower first, from {low:g} to {high:g}"
    kinds = int if key in WHOLE else (int, float)
    numbers = list(value) if pair and isinstance(value, list | tuple) else [value]
    good = all(isinstance(it, kinds) and not isinstance(it, bool) for it in numbers)
    good = good and len(numbers) == 1 + pair and numbers == sorted(numbers)
    if not good or not all(low <= number <= high for number in numbers):
        raise ValueError(f"{name}.{key} {value}: legal is {legal}")
    if pair:
        return float(numbers[0]), float(numbers[1])
    return int(value) if key in WHOLE else float(value)


def drawn_among(magnitude: int) -> Mapping[TransformName, Parameters]:
    """The operators that `randaugment` draws from, each as strong as `magnitude` of 30 says.

    Those of its paper as far as they are among the transforms; shifts are one of both directions,
    and brightness, contrast and saturation also come together.
    """
    strength = magnitude / 30.0
    still = {"degrees": 0.0, "shift": 0.0, "scale": [1.0, 1.0]}
    around = [1.0 - 0.9 * strength, 1.0 + 0.9 * strength]
    return {
        "identity": {},
        "equalise": {},
        "rotation": {"degrees": 30.0 * strength},
        "affine": {**still, "shift": 0.45 * strength},
        "perspective": {"distortion": 0.5 * strength},
        "posterise": {"bits": 8 - round(4 * strength)},
        "solarise": {"threshold": round(255 * (1.0 - strength))},
        "contrast": {"factor": around},
        "sharpness_change": {"factor": around},
        "colour_jitter": {"spread": 0.9 * strength, "hue": 0.0},
    }
