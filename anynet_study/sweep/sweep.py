"""The sweep file: a whole study in one YAML, typed; every error names the key and what is legal."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from anynet_study.data import Variant
from anynet_study.errors import UserError
from anynet_study.sweep.launch import Launch
from anynet_study.sweep.population import PopulationSpec
from anynet_study.sweep.text import Strict, apply_override, describe, dump_yaml, load_yaml
from anynet_study.training import EvaluationSpec, Recipe

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def _label(text: str) -> str:
    if not LABEL.fullmatch(text):
        raise ValueError("legal: up to 64 letters, digits, `-` and `_`, not beginning with these")
    return text


Label = Annotated[str, AfterValidator(_label)]
Role = Literal["source", "family", "target", "extra"]


class DatasetSpec(Variant):
    """A packed dataset, or a view of one, and its part in the analysis."""

    #: The packed dataset; by default the one named like this entry.
    base: str = ""
    #: Inferred if left out: class subsets of the source form its X family; other views of its base,
    #: and views of a dataset that is there whole, are extras; the rest are targets.
    role: Literal["family", "target", "extra"] | None = None

    @property
    def variant(self) -> Variant:
        """The view, without its part in the analysis."""
        return Variant(**self.model_dump(exclude={"role"}))

    @property
    def is_whole(self) -> bool:
        """Whether this is the packed dataset as it is."""
        return self.variant == Variant(base=self.base, test_share=self.test_share)

    def is_class_subset_of(self, other: "DatasetSpec") -> bool:
        """Whether the two differ in the choice of classes only."""
        any_classes = {"classes": None, "class_seed": 0}
        mine, theirs = self.variant.model_copy(update=any_classes), other.variant
        return other.classes is None and mine == theirs.model_copy(update=any_classes)


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


class Replicates(Strict):
    """Further seeds of the same runs, from which the noise ceiling is estimated."""

    #: Runs of each architecture, the first included.
    count: int = Field(1, ge=1)
    #: Only the first so many architectures are repeated; all by default.
    architectures: int | None = Field(None, ge=1)


class Sweep(Strict):
    """A study: population x datasets x recipes x replicates."""

    #: Of the study, and of its folder under studies/.
    name: Label
    #: What the study answers, in a sentence for the report.
    question: str = ""
    population: PopulationSpec
    #: By name: packed datasets, and views of them.
    datasets: dict[Label, DatasetSpec] = Field(min_length=1)
    #: The dataset whose ranking of architectures is asked to carry over.
    source: str
    #: By name, how networks are trained. The first recipe gives the errors that are analysed.
    recipes: dict[Label, RecipeSpec] = Field(min_length=1)
    replicates: Replicates = Replicates()
    #: Further tests of the trained networks: transformed or shifted test sets, fewer classes.
    evaluations: dict[Label, EvaluationSpec] = Field(default_factory=dict)
    launch: Launch = Launch()

    @model_validator(mode="before")
    @classmethod
    def _test_sets_are_evaluations(cls, content: Any) -> Any:
        """A dataset with the key `test_set_of: DATASET` is an evaluation of that one's networks."""
        datasets = content.get("datasets") if isinstance(content, Mapping) else None
        if not isinstance(datasets, Mapping):
            return content
        trained, evaluations = {}, dict(content.get("evaluations") or {})
        for label, entry in datasets.items():
            if not isinstance(entry, Mapping) or "test_set_of" not in entry:
                trained[label] = entry
                continue
            if further := [key for key in entry if key not in ("base", "test_set_of")]:
                raise ValueError(
                    f"datasets.{label}.{further[0]}: legal with test_set_of, as nothing is trained "
                    "on it: base"
                )
            if label in evaluations:
                raise ValueError(f"evaluations.{label}: datasets has a test set of that name, too")
            of = {"datasets": [entry["test_set_of"]]}
            evaluations[label] = {"test_set": entry.get("base", label), **of}
        return {**content, "datasets": trained, "evaluations": evaluations}

    @field_validator("datasets", mode="before")
    @classmethod
    def _default_base(cls, datasets: Any) -> Any:
        """An entry without a base is a view of the packed dataset of the same name."""
        if not isinstance(datasets, Mapping):
            return datasets
        filled = {}
        for label, entry in datasets.items():
            entry = {} if entry is None else entry
            filled[label] = {"base": label, **entry} if isinstance(entry, Mapping) else entry
        return filled

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        self._require(self.source, "source")
        for name, recipe in self.recipes.items():
            for label in [*recipe.overrides, *(recipe.datasets or [])]:
                self._require(label, f"recipes.{name}")
            if recipe.pretrained is not None:
                self._require(recipe.pretrained, f"recipes.{name}.pretrained")
                self.pretraining(recipe.pretrained)
        for name, evaluation in self.evaluations.items():
            for label in evaluation.datasets or ():
                self._require(label, f"evaluations.{name}.datasets")
        if not any(self.role_of(label) == "target" for label in self.datasets):
            raise ValueError(
                f"datasets: none is a target; add one that is no view of {self.source}, "
                "or give one `role: target`"
            )
        return self

    def _require(self, label: str, where: str) -> None:
        if label not in self.datasets:
            legal = ", ".join(self.datasets)
            raise ValueError(f"{where}: no dataset `{label}` in this sweep; there are: {legal}")

    def trained_datasets(self, recipe: RecipeSpec) -> list[str]:
        """The datasets on which a recipe is used, in the sweep's order."""
        if recipe.datasets is not None:
            return [label for label in self.datasets if label in recipe.datasets]
        return [label for label in self.datasets if label != recipe.pretrained]

    def pretraining(self, label: str) -> str:
        """The recipe that trains the weights of `label` that others start from: the first."""
        for name, recipe in self.recipes.items():
            if recipe.pretrained is None and label in self.trained_datasets(recipe):
                return name
        raise ValueError(f"pretrained: no recipe trains {label} from scratch in this sweep")

    @classmethod
    def load(cls, path: Path, overrides: Sequence[str] = ()) -> "Sweep":
        """Read a sweep file and apply `key.path=value` overrides.

        A file that the sweep names is meant from the sweep's folder; one that an override names,
        from the current one. Raises UserError, one line: file, key, value, and what is legal.
        """
        content = load_yaml(path)
        _anchor(content, path.parent)
        for override in overrides:
            apply_override(content, override)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise UserError(f"{path}: {describe(error, cls, content)}") from None

    def to_yaml(self) -> str:
        """The resolved sweep; loading it gives an equal sweep, in a study's folder if need be."""
        content = self.model_dump(mode="json")
        return dump_yaml({**content, "population": self.population.resolved()})

    def role_of(self, label: str) -> Role:
        """The part of a dataset in the analysis, stated or inferred (`DatasetSpec.role`)."""
        entry, source = self.datasets[label], self.datasets[self.source]
        if label == self.source:
            return "source"
        if entry.role is not None:
            return entry.role
        if entry.base == source.base:
            return "family" if entry.is_class_subset_of(source) else "extra"
        whole_is_there = any(
            other.base == entry.base and other.is_whole for other in self.datasets.values()
        )
        return "extra" if whole_is_there and not entry.is_whole else "target"


def _anchor(content: dict[str, Any], folder: Path) -> None:
    """Make the population's file of a sweep, in place, one that is meant from `folder`."""
    population = content.get("population")
    if isinstance(population, dict) and isinstance(population.get("file"), str):
        population["file"] = str(folder / population["file"])
