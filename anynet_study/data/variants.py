"""Variants of a dataset: fewer classes, fewer or balanced training images. Views, never copies."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


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


class Variant(BaseModel):
    """How a dataset is cut from a packed one (paper 1, sections 4.4 and 6.1.7).

    Classes are chosen in both splits; `balanced`, `per_class` and `fraction` act, in this order,
    on the training split only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Name of the packed dataset.
    base: str
    #: How many classes, drawn with `class_seed`, or which. None: all.
    classes: ClassChoice | None = None
    #: Of two draws with one seed, the smaller is part of the larger.
    class_seed: int = Field(default=0, ge=0)
    #: Cap every class at the size of the second largest.
    balanced: bool = False
    #: Training images of every class.
    per_class: int | None = Field(default=None, ge=1)
    #: Share of every class's training images, at least one.
    fraction: float | None = Field(default=None, gt=0, le=1)
