"""The population of a sweep file: drawn from a design space, or chosen and read from a file."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from anynet_study.design_space import DesignSpace, Population
from anynet_study.design_space.bands import checked_strata
from anynet_study.errors import UserError

#: The population's file in a study's folder, beside the resolved sweep.
POPULATION_FILE = "population.parquet"
Band = tuple[float, float] | None


class Strict(BaseModel):
    """A frozen part of a sweep file in which unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
    count: int | None = Field(None, ge=1)
    #: Image side and class count at which the bands are meant and complexity is counted.
    resolution: int = Field(224, ge=1)
    classes: int = Field(1000, ge=2)

    @field_validator("space", mode="before")
    @classmethod
    def _known_space(cls, space: Any) -> Any:
        try:
            DesignSpace.from_spec(space)
        except UserError as error:  # the key is said by who reports this
            raise ValueError(str(error).removeprefix("space: ")) from None
        return space

    @field_validator("strata", mode="before")
    @classmethod
    def _known_strata(cls, strata: Any) -> Any:
        try:
            checked_strata(strata)
        except UserError as error:
            raise ValueError(str(error).removeprefix("strata: ")) from None
        return strata

    @field_validator("flops", "parameters", "activations", mode="before")
    @classmethod
    def _is_a_band(cls, band: Any, info: ValidationInfo) -> Any:
        if band is None:
            return None
        try:
            low, high = map(float, band if isinstance(band, list | tuple) else ())
            if 0 <= low <= high < math.inf:
                return low, high
        except (TypeError, ValueError):
            pass
        unit = "multiply-adds" if info.field_name == "flops" else info.field_name
        raise ValueError(f"legal: [lowest, highest] {unit}, such as [360e6, 400e6]")

    @model_validator(mode="after")
    def _drawn_or_read(self) -> Self:
        drawing = ("space", "flops", "parameters", "activations", "strata", "seed")
        both = [name for name in drawing if name in self.model_fields_set]
        if self.file is None and self.count is None:
            raise ValueError("`count` is missing: how many to draw (or give a `file` of them)")
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
        assert self.count is not None  # `_drawn_or_read`
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


def anchor(content: dict[str, Any], folder: Path) -> None:
    """Make the population's file of a sweep, in place, one that is meant from `folder`."""
    population = content.get("population")
    if isinstance(population, dict) and isinstance(population.get("file"), str):
        population["file"] = str(folder / population["file"])
