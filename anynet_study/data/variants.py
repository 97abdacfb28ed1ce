"""Variants of a dataset: other classes, fewer images, wrong labels. Views, never copies."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def _names(value: Any) -> Any:
    """Class names that YAML reads as whole numbers (`[0, 1]`) are names."""
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


#: Classes that become one: the names of those in each; or the superclasses the dataset has.
ClassGroups = Annotated[
    Literal["superclasses"] | dict[str, tuple[str, ...]] | None, BeforeValidator(_groups)
]


def _share(value: Any) -> Any:
    """`1/8`, which YAML reads as a text, is a number; `yes` is none."""
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


#: That 1/3 is a third, as far as shares of images are concerned.
ROUNDING = 1e-9


class Variant(BaseModel):
    """How a dataset is cut from a packed one (paper 1, sections 4.4 and 6.1.7).

    In this order: `groups` make the classes, `classes` chooses among them, both in both splits;
    `balanced`, `per_class`, `fraction` and `images` choose training images; `validation` takes some
    of these out of training; `label_noise` changes labels of those that are left. Test images are
    all tested, but where both splits are balanced, and keep their labels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Name of the packed dataset; or of several, whose training images and whose test images are
    #: taken together. Classes of equal names become one, if `groups` does not say otherwise.
    base: Bases
    #: What `data add` must have held out of each class for tests (its --test-share): a dataset that
    #: was packed otherwise, or has a test split of its own, is refused. None: as it was packed.
    test_share: Annotated[Share, Field(gt=0, lt=1)] | None = None
    #: Classes that become one, by its name; those of no group are left out. In a union `cat` is
    #: that class of all datasets that have it, and `pets:cat` that of the dataset pets alone.
    groups: ClassGroups = None
    #: How many classes, drawn with `class_seed`, or which. None: all.
    classes: ClassChoice | None = None
    #: Of two draws with one seed, the smaller is part of the larger.
    class_seed: int = Field(default=0, ge=0)
    #: Cap every class at the size of the second largest: of training images (true), or in both
    #: splits, each by its own sizes (paper 1, section 6.1.6, makes new datasets).
    balanced: bool | Literal["both"] = False
    #: Training images of every class.
    per_class: int | None = Field(default=None, ge=1)
    #: Share of every class's training images, at least one.
    fraction: Annotated[Share, Field(gt=0, le=1)] | None = None
    #: Training images in all: every class in proportion to its size, of a union an equal part from
    #: each dataset. Of two numbers, the smaller selection is part of the larger.
    images: int | None = Field(default=None, ge=2)
    #: Share of every class's training images that get another label, each class equally likely.
    label_noise: Share = Field(default=0.0, ge=0, le=1)
    #: Of two shares with one seed, the images with wrong labels of the smaller are among those of
    #: the larger, with the same labels.
    noise_seed: int = Field(default=0, ge=0)
    #: Share of every class's training images that are not trained on but validated on: recipes may
    #: choose by them, which must not be done by test images. Groups of images stay whole.
    validation: Annotated[Share, Field(gt=0, lt=1)] | None = None
    #: Which of the disjoint shares of that size: 0 to 4 of 1/5 are those of five-fold validation.
    fold: int = Field(default=0, ge=0)

    @property
    def bases(self) -> tuple[str, ...]:
        """The packed datasets whose images these are."""
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
