"""Variants of a dataset: other classes, fewer images, wrong labels. Views, never copies."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def _names(value: Any) -> Any:
    """Turn class names that YAML reads as whole numbers (`[0, 1]`) into texts."""
    if isinstance(value, bool):
        raise ValueError("a number of classes or a list of class names")
    if not isinstance(value, list | tuple):
        return value
    return [str(name) if type(name) is int else name for name in value]


def _distinct(value: int | tuple[str, ...]) -> int | tuple[str, ...]:
    if isinstance(value, tuple) and len(set(value)) < len(value):
        raise ValueError("a class is listed twice")
    return value


#: How many classes, or which.
ClassChoice = Annotated[
    Annotated[int, Field(ge=2)] | Annotated[tuple[str, ...], Field(min_length=2)],
    BeforeValidator(_names),
    AfterValidator(_distinct),
]


def _groups(value: Any) -> Any:
    if value in (None, "superclasses"):
        return value
    listed = isinstance(value, Mapping) and len(value) >= 2
    if not listed or not all(
        isinstance(members, list | tuple) and members for members in value.values()
    ):
        raise ValueError(
            "legal: superclasses, or 2 groups or more with the classes of each, such as "
            "{pet: [cat, dog], vehicle: [car]}"
        )
    groups = {str(name): _names(members) for name, members in value.items()}
    members = [name for group in groups.values() for name in group]
    for name in members:
        if members.count(name) > 1:
            raise ValueError(f"class {name!r} is in a group twice, or in two")
    return groups


#: Groups of classes, each of which becomes one class: the names of its members by its own name; or
#: `superclasses`: those that the dataset itself has.
ClassGroups = Annotated[
    Literal["superclasses"] | dict[str, tuple[str, ...]] | None, BeforeValidator(_groups)
]


def _share(value: Any) -> Any:
    """Accept `1/8`, which YAML reads as a text; refuse `yes`, which YAML reads as true."""
    if isinstance(value, bool):
        raise ValueError("a share, such as 0.125 or 1/8")
    parts = str(value).split("/")
    if len(parts) == 2 and all(part.strip().isdecimal() for part in parts) and int(parts[1]):
        return int(parts[0]) / int(parts[1])
    return value


Share = Annotated[float, BeforeValidator(_share)]


def _bases(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if len(value) < 2 or len(set(value)) < len(value):
        raise ValueError("legal: a packed dataset, or a list of 2 or more different ones")
    return tuple(value)


#: A packed dataset, or several whose images are taken together.
Bases = Annotated[str | tuple[str, ...], BeforeValidator(_bases)]


#: Tolerance for shares of images, so that 1/3 counts as exactly a third.
ROUNDING = 1e-9


class Variant(BaseModel):
    """The rule by which a dataset is cut from a packed one (paper 1, sections 4.4 and 6.1.7).

    The keys apply in this order. `groups` makes the classes, and `classes` chooses among them, in
    both splits. `balanced`, `per_class`, `fraction` and `images` choose training images.
    `validation` takes some of these out of training. `label_noise` changes labels of those that
    remain. All test images are used, unless both splits are balanced, and they keep their labels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Name of the packed dataset, or a list of names: then the training images of all of them are
    #: joined, and so are their test images. Classes with equal names become one class, unless
    #: `groups` says otherwise.
    base: Bases
    #: The share of each class that `data add` must have held out for tests (its --test-share). A
    #: dataset that was packed with another share, or that has an official test split, is refused.
    #: By default, any dataset is accepted.
    test_share: Annotated[Share, Field(gt=0, lt=1)] | None = None
    #: Lists of classes that become one class, by the name of the new class. Classes in no list are
    #: left out. In a union, `cat` means the class cat of every dataset that has one, and `pets:cat`
    #: only that of the dataset pets.
    groups: ClassGroups = None
    #: How many classes are drawn with `class_seed`, or a list of classes. By default, all.
    classes: ClassChoice | None = None
    #: Seed of the draw of classes. With the same seed, fewer classes are among more.
    class_seed: int = Field(default=0, ge=0)
    #: Reduce the largest class to the size of the second largest: in the training split (true), or
    #: in each split by its own sizes (`both`; paper 1, section 6.1.6, makes new datasets).
    balanced: bool | Literal["both"] = False
    #: Number of training images of every class.
    per_class: int | None = Field(default=None, ge=1)
    #: Share of the training images of every class; at least one image is kept.
    fraction: Annotated[Share, Field(gt=0, le=1)] | None = None
    #: Total number of training images. Every class keeps its proportion; in a union, each dataset
    #: gives an equal part. A smaller selection is part of a larger one.
    images: int | None = Field(default=None, ge=2)
    #: Share of the training images of every class that get a wrong label; every other class is
    #: equally likely.
    label_noise: Share = Field(default=0.0, ge=0, le=1)
    #: Seed of the wrong labels. With the same seed, images that are wrong at a smaller share are
    #: wrong at a larger share too, with the same labels.
    noise_seed: int = Field(default=0, ge=0)
    #: Share of the training images of every class that are held out of training for validation:
    #: recipes may make choices by them, which they must not do by test images. Groups of images
    #: stay together.
    validation: Annotated[Share, Field(gt=0, lt=1)] | None = None
    #: Which of the disjoint shares of that size is held out. With `validation: 1/5`, folds 0 to 4
    #: make a five-fold cross-validation.
    fold: int = Field(default=0, ge=0)

    @property
    def bases(self) -> tuple[str, ...]:
        """Names of the packed datasets that the images come from."""
        return (self.base,) if isinstance(self.base, str) else self.base

    @model_validator(mode="after")
    def _fold_exists(self) -> Self:
        if self.validation is None and self.fold:
            raise ValueError("fold: only with validation, such as 1/5")
        folds = 1 if self.validation is None else int(1 / self.validation + ROUNDING)
        if self.fold >= folds:
            raise ValueError(
                f"fold {self.fold}: validation {self.validation:g} has 0 to {folds - 1}"
            )
        return self
