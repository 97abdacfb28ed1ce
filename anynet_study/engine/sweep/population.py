"""The population of a sweep file: drawn from a design space, or chosen and read from a file."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from anynet_study.core.errors import UserError
from anynet_study.design_space import (
    AnyNetwork,
    DesignSpace,
    Population,
    canonical,
    checked_band,
    checked_strata,
    published,
)
from anynet_study.engine.sweep.text import Strict

#: The population's file in a study's folder, beside the resolved sweep.
POPULATION_FILE = "population.parquet"
Band = tuple[float, float] | None
#: Packages whose networks have names, and of which nobody else's code is called.
LIBRARIES = ("timm", "torchvision")
Named = Callable[[str, int, int], AnyNetwork]


def named(name: str, resolution: int, classes: int) -> AnyNetwork:
    """Return the network of this name: a published one, or one that torch builds and traces."""
    if ":" not in name:
        return published(name, resolution, classes)
    from anynet_study.engine.models import trace_network

    return trace_network(name, resolution, classes)


def not_called(name: str, resolution: int, classes: int) -> AnyNetwork:
    """Return what `named` does. Raises UserError where a stranger's function would be called."""
    if ":" in name and name.partition(":")[0] not in LIBRARIES:
        raise UserError(f"{name} is a function that would be called: look at it, then say --trust")
    return named(name, resolution, classes)


def _published(name: str) -> str:
    """Return the usual spelling of a published network's name. ValueError lists all names."""
    try:
        return canonical(name)
    except UserError as error:
        more = "or timm:NAME, torchvision:NAME or a function of your own, module:function"
        raise ValueError(f"{error}, {more}") from None


class PopulationSpec(Strict):
    """The architectures: a design space with bands of complexity and a seed, a file, or names."""

    #: A CSV, JSON or Parquet file (see `Population.read`). It replaces all keys below except
    #: `count`, `resolution` and `classes`.
    file: str | None = None
    #: Networks by name, before any that are drawn: published ones (`complexity --list`), models of
    #: installed libraries (`timm:NAME`, `torchvision:NAME`), and what a function of your own makes
    #: (`module:function`, also of a file in this folder; it gets `classes` and `resolution`).
    networks: list[str] | None = Field(None, min_length=1)
    #: The name of a design space, or a mapping with the changes to one (`base`).
    space: str | dict[str, Any] = "anynetx"
    #: Bands [lowest, highest] of multiply-adds, parameters and activations. Both ends are inside
    #: the band; by default, there is no limit.
    flops: Band = None
    parameters: Band = None
    activations: Band = None
    #: Draw equally many architectures from each stratum, for example {of: depth, edges: [10, 20]}:
    #: see `Strata`.
    strata: dict[str, Any] | None = None
    seed: int = Field(0, ge=0)
    #: How many architectures are drawn, or how many are taken from the file (by default all of
    #: them).
    count: int | None = Field(None, ge=1, validate_default=True)
    #: Image side (pixels) and number of classes for which complexity is counted and bands apply.
    resolution: int = Field(224, ge=1)
    classes: int = Field(1000, ge=2)

    @field_validator("space", "strata", "flops", "parameters", "activations", mode="before")
    @classmethod
    def _legal(cls, value: Any, info: ValidationInfo) -> Any:
        """Check the value as the design space does. The caller adds the key to the message."""
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

    @field_validator("networks")
    @classmethod
    def _known(cls, networks: list[str] | None) -> list[str] | None:
        """Published names are checked here; others when they are built."""
        names = [name if ":" in name else _published(name) for name in networks or ()]
        for name, times in Counter(names).items():
            if times > 1:
                raise ValueError(f"{name} is there {times} times")
        return networks and names

    @field_validator("count")
    @classmethod
    def _needed_to_draw(cls, count: int | None, info: ValidationInfo) -> int | None:
        here = [info.data.get(name, "") for name in ("file", "networks")]
        if count is None and here == [None, None]:
            raise PydanticCustomError("missing", "how many to draw, or a `file` or `networks`")
        return count

    @model_validator(mode="after")
    def _drawn_or_read(self) -> Self:
        drawing = ("space", "flops", "parameters", "activations", "strata", "seed")
        both = [name for name in drawing if name in self.model_fields_set]
        if self.file is not None and both:
            raise ValueError(f"`{both[0]}` is for drawing, but there is a `file`; drop one of them")
        if self.networks is not None:
            if self.file is not None:
                raise ValueError("`networks` and a `file`: the file may name networks itself")
            if self.strata is not None:
                raise ValueError("`strata` are weighted, `networks` are not; drop one of them")
            if both and self.count is None:
                raise ValueError(f"`{both[0]}` is for drawing; say how many with `count`")
        return self

    def resolved(self) -> dict[str, Any]:
        """All keys as they are in a study's folder, where the population has a file."""
        if self.file is None:
            drawn = {"space", "seed"} if self.count is None else set()
            return self.model_dump(mode="json", exclude_none=True, exclude=drawn)
        given = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        return {**given, "file": POPULATION_FILE}

    def population(
        self, on_found: Callable[[int], None] | None = None, make: Named = named
    ) -> Population:
        """Draw the population (the same on every machine), or read it. Raises UserError.

        `on_found` is called now and then with the number of networks found so far; `make` makes
        those that have a name.
        """
        try:
            if self.file is not None:
                return self._read(Path(self.file), make)
            return self._drawn(on_found) if self.networks is None else self._named(on_found, make)
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

    def _named(self, on_found: Callable[[int], None] | None, make: Named) -> Population:
        """The named networks first, then the drawn ones."""
        place = self.resolution, self.classes
        networks: list[AnyNetwork] = [make(name, *place) for name in self.networks or ()]
        called: dict[str, str] = {}
        for name, network in zip(self.networks or (), networks, strict=True):
            if network.id in called:
                raise UserError(f"networks: {name} is the same network as {called[network.id]}")
            called[network.id] = name
        drawn = None if self.count is None else self._drawn(on_found)
        names = [*(self.networks or ()), *(None for _ in drawn or ())]
        sampling = None if drawn is None else drawn.sampling
        return Population.from_architectures([*networks, *(drawn or ())], *place, names, sampling)

    def _read(self, path: Path, make: Named) -> Population:
        given = {
            name: getattr(self, name)
            for name in ("resolution", "classes")
            if name in self.model_fields_set
        }
        population = Population.read(path, **given, named=make)
        if self.count is None or self.count == len(population):
            return population
        if self.count > len(population):
            raise UserError(f"count: {self.count} is more than the {len(population)} in {path}")
        return population.first(self.count)
