"""A further evaluation of trained networks, as stated in a sweep file."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from anynet_study.data.variants import ClassChoice
from anynet_study.training.evaluation.transforms.catalog import TransformName


class EvaluationSpec(BaseModel):
    """Another test of a trained network: other images, transformed images, or fewer classes.

    The three combine. At least one of `test_set`, `transform` and `classes` is given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: A packed dataset whose test split is used instead of the run's own. Its classes are matched
    #: by name with those trained on; the others are left out, of the images and of the guesses.
    test_set: str | None = Field(None, min_length=1)
    #: What is done to each test image (paper 4, appendix B.2).
    transform: TransformName | None = None
    #: How many of the trained classes, drawn with `class_seed`, or which; the network chooses
    #: among these alone (paper 5: label sets of other sizes). None: all.
    classes: ClassChoice | None = None
    #: Of two draws with one seed, the smaller is part of the larger.
    class_seed: int = Field(0, ge=0)
    #: Labels of the datasets whose networks are evaluated; None: all for which it makes sense.
    datasets: tuple[str, ...] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.test_set is None and self.transform is None and self.classes is None:
            raise ValueError("an evaluation needs at least one of: test_set, transform, classes")
        return self
