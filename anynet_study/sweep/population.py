"""The population of a sweep file: drawn from a design space, or chosen and read from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from anynet_study.design_space import DesignSpace, Population, checked_band, checked_strata
from anynet_study.errors import UserError
from anynet_study.sweep.text import Strict

#: The population's file in a study's folder, beside the resolved sweep.
POPULATION_FILE = "population.parquet"
Band = tuple[float, float] | None


class PopulationSpec(Strict):
    """Which architectures: a design space, bands of complexity and a seed; or a file of them."""

    #: CSV, JSON or Parquet (see `Population.read`), instead of all that follows but the last three.
    file: str | None = None
    #: A name, or a mapping of what differs from it.
    space: str | dict[str, Any] = "anynetx"
    #: Lowest and highest multiply-adds, parameters and activations, both in the band; None: all.
    flops: Band = None
    parameters: Band = None
    activations: Band = None
    #: As many of each stratum, such as {of: depth, edges: [10, 20]}: see `Strata`.
    strata: dict[str, Any] | None = None
    seed: int = Field(0, ge=0)
    #: How many are drawn, or how many of the file's are taken; all of these by default.
    count: int | None = Field(None, ge=1, validate_default=True)
    #: Image side and class count at which the bands are meant and complexity is counted.
    resolution: int = Field(224, ge=1)
    classes: int = Field(1000, ge=2)

    @field_validator("space", "strata", "flops", "parameters", "activations", mode="before")
    @classmethod
    def _legal(cls, value: Any, info: ValidationInfo) -> Any:
        """What the design space itself says of the value; who reports this says the key."""
        name = str(info.field_name)
        try:
            if name == "space":
                DesignSpace.from_spec(value)
            elif name == "strata":
                checked_strata(value)
            elif checked_band(value, name) is not None:
                return tuple(map(float, value))
        except UserError as error:
            message = str(error).removeprefix(f"{name}: ").removeprefix(f"{value!r}: ")
            raise ValueError(message) from None
        return value

    @field_validator("count")
    @classmethod
    def _needed_to_draw(cls, count: int | None, info: ValidationInfo) -> int | None:
        if count is None and info.data.get("file", "") is None:
            raise PydanticCustomError("missing", "how many to draw, or a `file` of them")
        return count

    @model_validator(mode="after")
    def _drawn_or_read(self) -> Self:
        drawing = ("space", "flops", "parameters", "activations", "strata", "seed")
        both = [name for name in drawing if name in self.model_fields_set]
        if self.file is not None and both:
            raise ValueError(f"`{both[0]}` is for drawing, but there is a `file`; drop one of them")
        return self

    def resolved(self) -> dict[str, Any]:
        """All keys as they are in a study's folder, where the population has a file."""
        if self.file is None:
            return self.model_dump(mode="json", exclude_none=True)
        given = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        return {**given, "file": POPULATION_FILE}

    def population(self, on_found: Callable[[int], None] | None = None) -> Population:
        """Draw it, the same on every machine, or read it. Raises UserError.

        `on_found` is told now and then how many have been found.
        """
        try:
            return self._drawn(on_found) if self.file is None else self._read(Path(self.file))
        except UserError as error:
            raise UserError(f"population: {error}") from None

    def _drawn(self, on_found: Callable[[int], None] | None) -> Population:
        assert self.count is not None  # `_needed_to_draw`
        return DesignSpace.from_spec(self.space).sample(
            self.count,
            flops=self.flops,
            parameters=self.parameters,
            activations=self.activations,
            resolution=self.resolution,
            classes=self.classes,
            seed=self.seed,
            strata=self.strata,
            on_found=on_found,
        )

    def _read(self, path: Path) -> Population:
        given = {
            name: getattr(self, name)
            for name in ("resolution", "classes")
            if name in self.model_fields_set
        }
        population = Population.read(path, **given)
        if self.count is None or self.count == len(population):
            return population
        if self.count > len(population):
            raise UserError(f"count: {self.count} is more than the {len(population)} in {path}")
        return population.first(self.count)
