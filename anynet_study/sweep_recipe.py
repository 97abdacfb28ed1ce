"""The recipes of a sweep: how its runs are trained, dataset by dataset."""

from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from anynet_study.sweep_text import describe
from anynet_study.training.recipe import Recipe


class RecipeSpec(Recipe):
    """A recipe, what differs on single datasets, and on which datasets it is used."""

    #: The dataset of this sweep on whose trained weights the runs start, with a new head: all
    #: layers are trained further, or with `trained: head` only the head. None: from scratch.
    pretrained: str | None = None

    #: Keys of the recipe that differ, by dataset.
    overrides: dict[str, dict[str, Any]] = Field(default_factory=dict)
    #: The datasets trained with this recipe; by default all, but not the pretrained one again.
    datasets: list[str] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _legal_overrides(self) -> Self:
        for name in self.overrides:
            try:
                self.for_dataset(name)
            except ValidationError as error:
                problem = describe(error, Recipe, self._keys_for(name))
                raise ValueError(f"overrides.{name}: {problem}") from None
        return self

    @model_validator(mode="after")
    def _probes_pretrained_weights(self) -> Self:
        used: list[Recipe] = [self, *(self.for_dataset(label) for label in self.overrides)]
        if self.pretrained is None and any(recipe.trained == "head" for recipe in used):
            raise ValueError("trained: head needs weights to start from: give pretrained: DATASET")
        return self

    def for_dataset(self, label: str) -> Recipe:
        """The recipe as used on the dataset `label`."""
        return Recipe(**self._keys_for(label))

    def _keys_for(self, label: str) -> dict[str, Any]:
        common = self.model_dump(exclude={"overrides", "datasets", "pretrained"})
        changes = self.overrides.get(label, {})
        for length in {"epochs", "steps"} & set(changes):  # one takes the other's place
            common |= {"epochs": None, "steps": None, length: changes[length]}
        return common | changes
