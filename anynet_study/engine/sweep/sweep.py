"""The sweep file: a whole study in one YAML, typed; every error names the key and what is legal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from anynet_study.core.errors import UserError
from anynet_study.data import Bases, Variant
from anynet_study.design_space import STEMS
from anynet_study.engine.sweep.launch import Launch
from anynet_study.engine.sweep.population import PopulationSpec
from anynet_study.engine.sweep.text import (
    Strict,
    apply_override,
    describe,
    differences,
    dump_yaml,
    load_yaml,
)
from anynet_study.engine.sweep.tuning import (
    LENGTHS,
    VALIDATION,
    Settings,
    Tuning,
    as_text,
    check_rungs,
    name_of,
    shortened,
    stated,
)
from anynet_study.engine.training import EvaluationSpec, Inherited, Recipe

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def _label(text: str) -> str:
    if not LABEL.fullmatch(text):
        raise ValueError("legal: up to 64 letters, digits, `-` and `_`, not beginning with these")
    return text


Label = Annotated[str, AfterValidator(_label)]
Role = Literal["source", "family", "target", "extra"]


#: Some architectures of the population: their row numbers, counted from 0, or their ids.
Some = Annotated[list[Annotated[int, Field(ge=0)] | str], Field(min_length=1)]
#: Keys of a recipe that name the runs, or the file, from which its runs start.
START_KEYS: dict[str, Inherited] = {
    **{"pretrained": "body", "after": "weights", "continues": "state"},
    "weights": "file",
}


class DatasetSpec(Variant):
    """A packed dataset or a view of one, and its role in the analysis."""

    #: Name of the packed dataset; by default the name of this entry. A list of names makes their
    #: union: it has the training and test images of all of them, and classes with equal names
    #: become one class (see `groups`).
    base: Bases = ""
    #: Name of another dataset of this sweep. From every class, take as many training images as that
    #: dataset has in its class of the same name.
    match: str | None = None
    #: The role in the analysis. If it is left out, it is inferred: class subsets of the source are
    #: its `family`; other views of the source's base, and views of a dataset that the sweep also
    #: uses whole, are `extra`; all others are `target`.
    role: Literal["family", "target", "extra"] | None = None

    @property
    def variant(self) -> Variant:
        """The view alone, without the role in the analysis."""
        return Variant(**self.model_dump(exclude={"role", "match"}))

    @property
    def is_whole(self) -> bool:
        """Tell whether this is the whole packed dataset, unchanged."""
        whole = Variant(base=self.base, test_share=self.test_share)
        return len(self.bases) == 1 and self.match is None and self.variant == whole

    def is_class_subset_of(self, other: "DatasetSpec") -> bool:
        """Tell whether this differs from `other` only in the choice of classes."""
        any_classes = {"classes": None, "class_seed": 0}
        mine, theirs = self.variant.model_copy(update=any_classes), other.variant
        alike = self.match == other.match and other.classes is None
        return alike and mine == theirs.model_copy(update=any_classes)

    @model_validator(mode="after")
    def _matched_alone(self) -> Self:
        for name in ("balanced", "per_class", "fraction", "images"):
            if self.match is not None and getattr(self, name):
                raise ValueError(f"match and {name}: only one of them says how many images")
        return self


class RecipeSpec(Recipe):
    """A recipe, its changes for single datasets, and the runs that use it."""

    #: A dataset of this sweep: the runs start from the weights that were trained on it, with a new
    #: head. All layers are trained further, or only the head with `trained: head`. By
    #: default, runs start from scratch.
    pretrained: str | None = None
    #: With `pretrained`: the recipe by which that dataset's runs were trained, from scratch; by
    #: default the first one. A list makes a recipe of this one for each of them, called
    #: NAME-RECIPE: pretraining x fine-tuning.
    pretrained_by: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    #: Another recipe of this sweep: each run starts from the final weights, head included, of the
    #: other recipe's run on the same dataset (for example, a linear probe that is then fine-tuned).
    after: str | None = None
    #: Another recipe of this sweep: each run continues the other recipe's run, with the optimiser's
    #: state. Epochs and learning rates of this recipe are counted from the first step of the other
    #: run, as if that run had followed this recipe from the start.
    continues: str | None = None
    #: A PyTorch file of weights: the runs start from them, with a new head. In the file's name,
    #: {architecture} stands for the architecture's id. The file's content is part of a run's
    #: identity.
    weights: str | None = Field(None, min_length=1)
    #: The stem of the networks, if it is another than the population's. Errors are still recorded
    #: for the architecture of the population.
    stem: str | None = None
    #: The architectures that are trained with this recipe; by default, all.
    architectures: Some | None = None
    #: By dataset: the keys of the recipe that have other values there.
    overrides: dict[str, dict[str, Any]] = Field(default_factory=dict)
    #: The datasets on which this recipe trains; by default all, except the one in `pretrained`.
    datasets: list[str] | None = Field(None, min_length=1)
    #: Try several settings of the recipe for each architecture on each dataset. The errors of the
    #: recipe are those of the setting with the lowest error on validation images.
    tuning: Tuning | None = None

    @model_validator(mode="after")
    def _pretrained_by_something(self) -> Self:
        if self.pretrained_by is not None and self.pretrained is None:
            raise ValueError("pretrained_by: only with pretrained, the dataset")
        return self

    @field_validator("stem")
    @classmethod
    def _known_stem(cls, stem: str | None) -> str | None:
        if stem not in (None, *STEMS):
            raise ValueError(f"unknown stem; legal: {', '.join(STEMS)}")
        return stem

    @field_validator("weights")
    @classmethod
    def _found_from_anywhere(cls, weights: str | None) -> str | None:
        return None if weights is None else str(Path(weights).absolute())

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
        starts = [name for name in START_KEYS if getattr(self, name) is not None]
        if len(starts) > 1:
            raise ValueError(f"{' and '.join(starts)}: a run starts from one other")
        if not starts and any(recipe.trained == "head" for recipe in used):
            raise ValueError(
                "trained: head needs weights to start from: give pretrained: DATASET, "
                "after: RECIPE or weights: FILE"
            )
        return self

    @model_validator(mode="after")
    def _legal_trials(self) -> Self:
        if self.tuning is None:
            return self
        if self.continues is not None:
            raise ValueError("tuning: not with continues, which keeps the other's settings")
        tuned = {key for part in self.tuning.parts for key in part}
        tuned |= set(LENGTHS) if tuned & set(LENGTHS) else set()
        for label, changes in self.overrides.items():
            if both := tuned & set(changes):
                raise ValueError(f"overrides.{label}.{min(both)}: tuning has it in its space")
            self._check_rungs(f"overrides.{label}.", self._keys_for(label))
        self._check_rungs("", self.model_dump())
        for number in range(len(self.tuning.settings)):
            self._trial("", number, 0)
        return self

    def _check_rungs(self, where: str, keys: dict[str, Any]) -> None:
        assert self.tuning is not None
        try:
            check_rungs(self.tuning, keys)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None

    def trials(self, name: str) -> dict[str, "Trial"]:
        """Return the trials that replace this recipe, called `name`, if it is tuned.

        Shorter rungs come first.
        """
        if self.tuning is None:
            return {}
        return {
            name_of(name, self.tuning, number, rung): self._trial(name, number, rung)
            for rung in range(len(self.tuning.counts))
            for number in range(len(self.tuning.settings))
        }

    def _trial(self, name: str, number: int, rung: int) -> "Trial":
        tuning = self.tuning
        assert tuning is not None
        settings, share = tuning.settings[number], tuning.share(rung)
        keys = self.model_dump(exclude={"tuning", "overrides"})
        overrides = {
            label: {key: shortened(self._keys_for(label), share)[key] for key in changes}
            for label, changes in self.overrides.items()
        }
        keys = {**shortened(_changed(keys, settings), share), "overrides": overrides}
        try:
            spec = RecipeSpec.model_validate(keys)
        except ValidationError as error:
            said = ", ".join(f"{key} {as_text(value)}" for key, value in settings.items())
            problem = describe(error, RecipeSpec, keys)
            raise ValueError(f"tuning: trial {number} ({said}): {problem}") from None
        return Trial(name, number, rung, settings, tuning, spec)

    def for_dataset(self, label: str) -> Recipe:
        """Return the recipe with its changes for the dataset `label`."""
        return Recipe(**self._keys_for(label))

    def _keys_for(self, label: str) -> dict[str, Any]:
        common = self.model_dump(include=set(Recipe.model_fields))
        return _changed(common, self.overrides.get(label, {}))


@dataclass(frozen=True)
class Trial:
    """One setting of a tuned recipe in one rung: a recipe of its own."""

    #: Name of the tuned recipe in the sweep.
    recipe: str
    #: Number of the setting, counted from 0. It is the same in all rungs.
    number: int
    rung: int
    settings: Settings
    tuning: Tuning
    #: The recipe by which its runs are trained.
    spec: RecipeSpec


def _changed(keys: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace some keys of a recipe."""
    for length in set(LENGTHS) & set(changes):  # they exclude each other
        keys = {**keys, **dict.fromkeys(LENGTHS), length: changes[length]}
    return {**keys, **changes}


#: The most networks of a run that one evaluation tests.
MOST_MOMENTS = 10_000


#: Keys of a sweep on which the result of no run depends.
NOT_OF_RUNS = frozenset({"name", "question", "errors_of", "launch"})
#: Of `errors_of`: the datasets that it does not name.
OTHERS = "default"


class Replicates(Strict):
    """Runs repeated with other seeds, from which the noise ceiling is estimated."""

    #: How many runs each architecture has, including the first.
    count: int = Field(1, ge=1, le=10_000)
    #: Repeat only this many architectures (the first ones), or only these; by default all.
    architectures: Annotated[int, Field(ge=1)] | Some | None = None
    #: Repeat only runs on these datasets; by default on all.
    datasets: list[str] | None = Field(None, min_length=1)
    #: Repeat only runs of these recipes, and the runs that they start from; by default of all.
    recipes: list[str] | None = Field(None, min_length=1)


class _InOneLine(type(BaseModel)):  # type: ignore[misc]
    """Tell mistakes in a sweep made in Python as those in a file: one line, a UserError."""

    if not TYPE_CHECKING:

        def __call__(cls, **content: Any) -> "Sweep":
            try:
                return super().__call__(**content)
            except ValidationError as error:
                raise UserError(f"Sweep: {describe(error, cls, content)}") from None


class Sweep(Strict, metaclass=_InOneLine):
    """A study: population x datasets x recipes x replicates.

    >>> sweep = Sweep(
    ...     name="first",
    ...     population={"count": 4, "resolution": 8, "classes": 10},
    ...     source="digits",
    ...     datasets={"digits": {}, "gratings": {}},
    ...     recipes={"basic": {"epochs": 1}},
    ... )
    >>> sweep.role_of("gratings"), sweep.recipes["basic"].lr
    ('target', 0.1)
    """

    #: The name of the study, and of its folder under studies/.
    name: Label
    #: The question that the study answers: a sentence for the report.
    question: str = ""
    population: PopulationSpec
    #: Packed datasets, and views of them, by name.
    datasets: dict[Label, DatasetSpec] = Field(min_length=1)
    #: The dataset whose ranking of architectures is compared with the rankings on the others.
    source: str
    #: Recipes of training, by name. The errors of the first recipe are analysed, unless `errors_of`
    #: says otherwise.
    recipes: dict[Label, RecipeSpec] = Field(min_length=1)
    #: By dataset: the recipe whose errors stand for it in the analysis. `default` is for all that
    #: are not named. Needed where no recipe trains on all datasets, such as if the source is
    #: pretrained by one recipe, and the targets are fine-tuned by another.
    errors_of: dict[str, str] = Field(default_factory=dict)
    replicates: Replicates = Replicates()
    #: Further tests of the trained networks: transformed or shifted test sets, fewer classes.
    evaluations: dict[Label, EvaluationSpec] = Field(default_factory=dict)
    launch: Launch = Launch()

    if TYPE_CHECKING:  # keys are mappings as in a file, too

        def __init__(
            self,
            *,
            name: str,
            population: PopulationSpec | Mapping[str, Any],
            datasets: Mapping[str, DatasetSpec | Mapping[str, Any]],
            source: str,
            recipes: Mapping[str, RecipeSpec | Mapping[str, Any]],
            question: str = ...,
            errors_of: Mapping[str, str] = ...,
            replicates: Replicates | Mapping[str, Any] = ...,
            evaluations: Mapping[str, EvaluationSpec | Mapping[str, Any]] = ...,
            launch: Launch | Mapping[str, Any] = ...,
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _test_sets_are_evaluations(cls, content: Any) -> Any:
        """Turn datasets with the key `test_set_of: DATASET` into evaluations of its networks."""
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

    @model_validator(mode="before")
    @classmethod
    def _one_start_each(cls, content: Any) -> Any:
        """Turn recipes with several `pretrained_by` into one for each, called NAME-RECIPE."""
        recipes = content.get("recipes") if isinstance(content, Mapping) else None
        if not isinstance(recipes, Mapping):
            return content
        found: dict[str, Any] = {}
        for name, keys in recipes.items():
            starts = keys.get("pretrained_by") if isinstance(keys, Mapping) else None
            made = {name: keys}
            if isinstance(starts, list | tuple) and starts:
                alone = len(starts) == 1
                made = {
                    name if alone else f"{name}-{one}": {**keys, "pretrained_by": one}
                    for one in starts
                }
            if both := set(made) & (set(found) | (set(recipes) - {name})):
                raise ValueError(
                    f"recipes.{name}.pretrained_by: there is a recipe {min(both)} already"
                )
            found |= made
        return {**content, "recipes": found}

    @model_validator(mode="before")
    @classmethod
    def _trials_are_validated(cls, content: Any) -> Any:
        """Add an evaluation on validation images for every recipe that is tuned."""
        recipes = content.get("recipes") if isinstance(content, Mapping) else None
        evaluations = (content.get("evaluations") or {}) if recipes else {}
        if not isinstance(recipes, Mapping) or not isinstance(evaluations, Mapping):
            return content
        # What is neither a mapping nor a recipe is refused by its type.
        given = [
            it if isinstance(it, Mapping) else vars(it)
            for it in recipes.values()
            if isinstance(it, Mapping | BaseModel)
        ]
        if VALIDATION in evaluations or not any(it.get("tuning") for it in given):
            return content
        return {**content, "evaluations": {**evaluations, VALIDATION: {"part": "validation"}}}

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
        self._check_matches()
        for name, recipe in self.recipes.items():
            for label in [*recipe.overrides, *(recipe.datasets or [])]:
                self._require(label, f"recipes.{name}")
            if recipe.pretrained is not None:
                self._require(recipe.pretrained, f"recipes.{name}.pretrained")
                self.pretraining(recipe)
            self._check_start(name, recipe)
            self._check_tuned(name, recipe)
        self._check_errors_of()
        for label in self.replicates.datasets or ():
            self._require(label, "replicates.datasets")
        for name in self.replicates.recipes or ():
            self._require_recipe(name, "replicates.recipes")
        for name, evaluation in self.evaluations.items():
            for label in evaluation.datasets or ():
                self._require(label, f"evaluations.{name}.datasets")
            self._check_moments(name, evaluation)
        alone = len(self.datasets) == 1  # a population on one dataset; nothing carries over
        if not alone and not any(self.role_of(label) == "target" for label in self.datasets):
            raise ValueError(
                f"datasets: none is a target; add one that is no view of {self.source}, "
                "or give one `role: target`"
            )
        return self

    def _check_matches(self) -> None:
        for label, entry in self.datasets.items():
            if entry.match is not None:
                self._require(entry.match, f"datasets.{label}.match")
                if self.datasets[entry.match].match is not None:
                    raise ValueError(f"datasets.{label}.match: {entry.match} has a match, too")

    def _check_errors_of(self) -> None:
        """Check that the recipe which stands for a dataset trains on it."""
        for label, name in self.errors_of.items():
            if label != OTHERS:
                self._require(label, "errors_of")
            self._require_recipe(name, f"errors_of.{label}")
        for label in self.datasets if self.errors_of else ():
            name, known = self.standing_for(label), self.recipes_on(label)
            if name not in known and (known or label in self.errors_of):
                legal = ", ".join(known) or "none"
                raise ValueError(f"errors_of.{label}: {name} is not trained on it; legal: {legal}")

    def _require(self, label: str, where: str) -> None:
        if label not in self.datasets:
            legal = ", ".join(self.datasets)
            raise ValueError(f"{where}: no dataset `{label}` in this sweep; there are: {legal}")

    def _require_recipe(self, name: str, where: str) -> None:
        if name not in self.recipes:
            legal = ", ".join(self.recipes)
            raise ValueError(f"{where}: no recipe `{name}` in this sweep; there are: {legal}")

    def _check_start(self, name: str, recipe: RecipeSpec) -> None:
        """Check that the recipes from which this one starts exist, form no circle and fit."""
        self._check_cycle(name)
        for label in self.trained_datasets(recipe):
            if (start := self.start_of(name, label)) is None:
                continue
            dataset, other = start
            before = self.recipes[other]
            if before.tuning is not None:
                raise ValueError(
                    f"recipes.{name}: it cannot start from {other}, which is tuned: which of its "
                    "runs is chosen is known at the end only"
                )
            if dataset not in self.trained_datasets(before):
                raise ValueError(f"recipes.{name}: {other} is not trained on {dataset}")
            if recipe.stem != before.stem:
                raise ValueError(f"recipes.{name}.stem: it must be that of {other}")
            here, there = set(recipe.architectures or ()), set(before.architectures or ())
            if there and (not here or here - there):
                raise ValueError(f"recipes.{name}.architectures: {other} trains only some of them")

    def _check_tuned(self, name: str, recipe: RecipeSpec) -> None:
        """Check that there are validation images by which trials are chosen."""
        if recipe.tuning is None:
            return
        for label in self.trained_datasets(recipe):
            if self.datasets[label].validation is None:
                raise ValueError(
                    f"recipes.{name}.tuning: there are no validation images of {label}; state the "
                    f"dataset's share of them, such as validation: 0.1"
                )
        if self.evaluations[VALIDATION] != EvaluationSpec(part="validation"):
            raise ValueError(
                f"evaluations.{VALIDATION}: tuning compares trials by the evaluation of this name; "
                "legal: {part: validation}"
            )

    @cached_property
    def trials(self) -> dict[str, Trial]:
        """The trials of all tuned recipes, by their name in the records."""
        found: dict[str, Trial] = {}
        for name, recipe in self.recipes.items():
            found |= recipe.trials(name)
        return found

    @cached_property
    def trained(self) -> dict[str, RecipeSpec]:
        """The recipes of all trainings: each tuned recipe is replaced by its trials."""
        found: dict[str, RecipeSpec] = {}
        for name, recipe in self.recipes.items():
            trials = {key: it.spec for key, it in self.trials.items() if it.recipe == name}
            found |= trials or {name: recipe}
        return found

    def _check_cycle(self, name: str) -> None:
        passed, now = [name], self.recipes[name]
        while (other := now.after or now.continues) is not None:
            self._require_recipe(other, f"recipes.{passed[-1]}")
            if other in passed:
                raise ValueError(f"recipes.{name}: it starts from itself, by way of {other}")
            passed, now = [*passed, other], self.recipes[other]

    def _check_moments(self, name: str, evaluation: EvaluationSpec) -> None:
        """Check that there are networks to interpolate between, and that the epochs exist."""
        recipes = self.recipes.values()
        starting = [one for one in recipes if any(getattr(one, key) for key in START_KEYS)]
        if evaluation.interpolate is not None and not starting:
            raise ValueError(
                f"evaluations.{name}.interpolate: no recipe starts from other weights; give one "
                f"{', '.join(START_KEYS)}"
            )
        if evaluation.every is not None:
            for recipe, spec in self.recipes.items():
                if spec.patience is not None:
                    raise ValueError(
                        f"evaluations.{name}.every: with patience, as in recipes.{recipe}, it is "
                        "not known before how many epochs a run has"
                    )
            if all(spec.steps is not None for spec in recipes):
                raise ValueError(f"evaluations.{name}.every: no recipe states epochs")
            most = max(self.most_epochs(label) for label in self.datasets)
            if most > MOST_MOMENTS * evaluation.every:
                raise ValueError(
                    f"evaluations.{name}.every: {evaluation.every}, of {most} epochs; at most "
                    f"{MOST_MOMENTS:,} evaluations of a run are made"
                )

    def most_epochs(self, label: str) -> int:
        """The largest number of epochs on a dataset, among the recipes that state epochs."""
        used = (one for one in self.recipes.values() if label in self.trained_datasets(one))
        return max((recipe.for_dataset(label).epochs or 0 for recipe in used), default=0)

    def start_of(self, name: str, label: str) -> tuple[str, str] | None:
        """Dataset and recipe of the run from which that of `name` on `label` starts, or None."""
        recipe = self.recipes[stated(name)]
        if recipe.pretrained is not None:
            return recipe.pretrained, self.pretraining(recipe)
        other = recipe.after or recipe.continues
        return None if other is None else (label, other)

    def trained_datasets(self, recipe: RecipeSpec) -> list[str]:
        """The datasets on which a recipe is used, in the sweep's order."""
        if recipe.datasets is not None:
            return [label for label in self.datasets if label in recipe.datasets]
        if other := recipe.after or recipe.continues:
            return self.trained_datasets(self.recipes[other])
        return [label for label in self.datasets if label != recipe.pretrained]

    def recipes_on(self, label: str) -> list[str]:
        """The recipes that train on a dataset, in the sweep's order."""
        return [name for name, one in self.recipes.items() if label in self.trained_datasets(one)]

    def standing_for(self, label: str) -> str:
        """The recipe whose errors stand for a dataset (`errors_of`); by default the first."""
        first = next(iter(self.recipes))
        return self.errors_of.get(label, self.errors_of.get(OTHERS, first))

    def pretraining(self, recipe: RecipeSpec) -> str:
        """The recipe whose runs on the dataset in `pretrained` have the weights to start from."""
        label = recipe.pretrained or ""
        fitting = [
            name
            for name, one in self.recipes.items()
            if not (any(getattr(one, key) for key in START_KEYS) or one.tuning)
            and label in self.trained_datasets(one)
        ]
        if not fitting:
            raise ValueError(f"pretrained: no recipe trains {label} from scratch in this sweep")
        wanted = recipe.pretrained_by or fitting[0]
        if wanted not in fitting:
            raise ValueError(
                f"pretrained_by: {wanted} does not train {label} from scratch; legal: "
                f"{', '.join(fitting)}"
            )
        return str(wanted)

    @classmethod
    def load(cls, path: Path, overrides: Sequence[str] = ()) -> "Sweep":
        """Read a sweep file and apply `key.path=value` overrides.

        Paths in the sweep file are relative to its folder; paths in an override are relative to the
        current folder. Raises UserError, one line: file, key, value, and what is legal.
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
        """Return the resolved sweep as YAML, which loads as an equal sweep from any folder."""
        return dump_yaml(self._content())

    def _content(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "population": self.population.resolved()}

    def changes_since(self, before: "Sweep") -> dict[str, tuple[str, str]]:
        """Compare with an earlier sweep, key by key: what it had and what this one has.

        See `text.differences`. Keys on which no run depends (`NOT_OF_RUNS`) are left out.
        """
        changed = self.differences_from(before)
        return {key: both for key, both in changed.items() if key.split(".")[0] not in NOT_OF_RUNS}

    def differences_from(self, before: "Sweep") -> dict[str, tuple[str, str]]:
        """Compare with another sweep, all keys: what it had and what this one has."""
        return differences(before._content(), self._content())

    def role_of(self, label: str) -> Role:
        """Return the role of a dataset in the analysis, stated or inferred (`DatasetSpec.role`)."""
        entry, source = self.datasets[label], self.datasets[self.source]
        if label == self.source:
            return "source"
        if entry.role is not None:
            return entry.role
        if set(entry.bases) & set(source.bases):
            return "family" if entry.is_class_subset_of(source) else "extra"
        whole_is_there = any(
            set(other.bases) <= set(entry.bases) and other.is_whole
            for other in self.datasets.values()
        )
        return "extra" if whole_is_there and not entry.is_whole else "target"


def _anchor(content: dict[str, Any], folder: Path) -> None:
    """Make relative paths of files in a sweep's content start from `folder`, in place."""
    population = content.get("population")
    if isinstance(population, dict) and isinstance(population.get("file"), str):
        population["file"] = str(folder / population["file"])
    recipes = content.get("recipes")
    for recipe in recipes.values() if isinstance(recipes, dict) else ():
        if isinstance(recipe, dict) and isinstance(recipe.get("weights"), str):
            recipe["weights"] = str(folder / recipe["weights"])
