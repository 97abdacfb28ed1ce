"""The settings of a sweep: every dataset as it is trained with every recipe, and tested."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from anynet_study.core.errors import UserError, said_of
from anynet_study.data import (
    DatasetView,
    KeptDatasets,
    PackedDataset,
    load_dataset,
    make_view,
    union_of,
)
from anynet_study.design_space import AnyNetwork, Architecture, Group, Population, groups_of
from anynet_study.engine.planning.features import FurtherEvaluation, Workload
from anynet_study.engine.planning.sizes import DatasetSize, size_of_view
from anynet_study.engine.sweep import START_KEYS, VALIDATION, Sweep, Trial
from anynet_study.engine.training import (
    OF_HEADS,
    EvaluationSet,
    Inherited,
    Recipe,
    ResolvedRecipe,
    as_json,
    at_moment,
    check_names,
    evaluation_sets,
    moments,
    steps_per_epoch,
)


@dataclass(frozen=True, eq=False)
class Setting:
    """A dataset trained with a recipe."""

    dataset: str
    recipe: str
    resolved: ResolvedRecipe
    #: `DatasetView.identity`, and what captions are trained with.
    data: dict[str, Any]
    #: Place of the setting from whose weights its runs start; None: from scratch.
    start: int | None
    inherits: Inherited
    #: The networks' own, where it is not the population's.
    stem: str | None
    #: The file of weights that its runs start from, {architecture} standing for ids; None: none.
    weights: str | None
    #: The work of training.
    work: Workload
    #: The further evaluations of its runs.
    tests: tuple[FurtherEvaluation, ...]
    #: Of a tuned recipe: which of its trials, and the id of the evaluation that compares them.
    trial: Trial | None = None
    judged_by: str = ""

    def networks(self, population: Population) -> list[AnyNetwork]:
        """The architectures as they are trained; foreign networks have no stem to replace."""
        stem = self.stem
        if stem is None:
            return list(population)
        return [
            dataclasses.replace(one, stem=stem) if isinstance(one, Architecture) else one
            for one in population
        ]

    def groups(self, population: Population) -> Sequence[Group]:
        """Group the networks by frame, for computing what all of them cost."""
        return population.groups if self.stem is None else groups_of(self.networks(population))


def load_views(
    sweep: Sweep, whole: bool = False, kept: KeptDatasets | None = None
) -> dict[str, DatasetView]:
    """Open the datasets of a sweep; UserError names the first that is missing or impossible.

    `whole`: the data are read, those of further test sets too; UserError names a changed file.
    `kept`: see `load_dataset`.
    """
    bases, tests = datasets_of(sweep)
    opened = {base: load_dataset(base, whole, kept) for base in bases}
    for name in tests if whole else ():
        load_dataset(name, whole, kept)
    return make_views(sweep, opened)


def make_views(sweep: Sweep, opened: Mapping[str, PackedDataset]) -> dict[str, DatasetView]:
    """The sweep's views of datasets that are `opened`; views that need others are left out."""
    views: dict[str, DatasetView] = {}
    # Those whose sizes others take come first.
    for label in sorted(sweep.datasets, key=lambda label: sweep.datasets[label].match is not None):
        entry = sweep.datasets[label]
        if set(entry.bases) <= set(opened) and (entry.match is None or entry.match in views):
            with naming(label):
                dataset = union_of([opened[base] for base in entry.bases])
                like = None if entry.match is None else views[entry.match]
                views[label] = make_view(dataset, entry.variant, like)
    return {label: views[label] for label in sweep.datasets if label in views}


def datasets_of(sweep: Sweep) -> tuple[list[str], list[str]]:
    """The packed datasets that are trained on, and the others that networks are tested on."""
    bases = {base for entry in sweep.datasets.values() for base in entry.bases}
    tests = {spec.test_set for spec in sweep.evaluations.values() if spec.test_set is not None}
    return sorted(bases), sorted(tests - bases)


@contextmanager
def naming(label: str) -> Iterator[None]:
    """Let a UserError say which dataset of the sweep it is about."""
    try:
        yield
    except UserError as error:
        raise said_of(f"dataset {label}", error) from None


def settings_of(
    sweep: Sweep, views: Mapping[str, DatasetView], kept: KeptDatasets | None = None
) -> tuple[Setting, ...]:
    """The settings of a sweep whose data are there."""
    asked = evaluations_by_dataset(sweep, views, kept)
    sizes = {label: size_of_view(view) for label, view in views.items()}
    tests = {
        label: tuple(map(FurtherEvaluation.of, sets.values())) for label, sets in asked.items()
    }
    return tuple(
        replace(it, judged_by=asked[it.dataset][VALIDATION].evaluation_id) if it.trial else it
        for it in settings_by_size(sweep, views, sizes, tests)
    )


def settings_by_size(
    sweep: Sweep,
    views: Mapping[str, DatasetView],
    sizes: Mapping[str, DatasetSize],
    tests: Mapping[str, tuple[FurtherEvaluation, ...]],
) -> tuple[Setting, ...]:
    """The settings of a sweep, whose runs start from those of earlier ones.

    By dataset: its view where it is there (else its name stands for its images), its size, and the
    further evaluations of its networks.
    UserError where a recipe does not fit a dataset, or a run cannot go on from the end of another.
    """
    settings: list[Setting] = []
    for label, name, start in columns_of(sweep):
        recipe, view = sweep.trained[name], views.get(label)
        stated = recipe.for_dataset(label)
        resolved = resolve(stated, label, sizes[label], view)
        data = {"dataset": label} if view is None else view.identity
        if view is not None and resolved.texts == "captions":
            said = hashlib.sha256(as_json(view.captions()).encode()).hexdigest()
            data = {**data, "captions": said}
        work, before = sizes[label].workload(resolved), None if start is None else settings[start]
        taken = (inherits for key, inherits in START_KEYS.items() if getattr(recipe, key))
        inherits: Inherited = next(taken, "body")
        done_before = 0
        if inherits == "weights" and before is not None:  # of another head nothing is taken over
            alike = [getattr(resolved, key) == getattr(before.resolved, key) for key in OF_HEADS]
            inherits = "weights" if all(alike) else "body"
        if inherits == "state":
            assert before is not None
            with naming(label):
                work = _further_work(resolved, before, work, f"recipes.{name}")
            done_before = before.resolved.epochs or 0
        elsewhere, epochs = start is not None or recipe.weights is not None, resolved.epochs or 0
        had = (
            it for it in tests.get(label, ()) if it.moment.is_had(epochs, done_before, elsewhere)
        )
        settings.append(
            Setting(
                dataset=label,
                recipe=name,
                resolved=resolved,
                data=data,
                start=start,
                inherits=inherits,
                stem=recipe.stem,
                weights=recipe.weights,
                work=work,
                tests=tuple(had),
                trial=sweep.trials.get(name),
            )
        )
    return tuple(settings)


#: What must be alike in a recipe and in that which it continues.
ALIKE = ("batch_size", "optimizer", "momentum", "trained", *OF_HEADS)


def _further_work(
    resolved: ResolvedRecipe, before: Setting, work: Workload, where: str
) -> Workload:
    """Return what is left to do of a run that goes on from the end of another."""
    for key in ALIKE:
        mine, others = getattr(resolved, key), getattr(before.resolved, key)
        if mine != others:
            raise UserError(
                f"{where}.{key}: {mine}, but it continues {before.recipe} with {others}"
            )
    if resolved.epochs is None or before.resolved.epochs is None:
        raise UserError(f"{where}: it continues {before.recipe}; both must state epochs")
    if resolved.validates or before.resolved.validates:
        raise UserError(f"{where}: what continues, or is continued, cannot select by validation")
    further = resolved.epochs - before.resolved.epochs
    if further < 1:
        raise UserError(
            f"{where}.epochs: {resolved.epochs}, of which {before.recipe} has done "
            f"{before.resolved.epochs} already"
        )
    share = further / resolved.epochs
    tests = -(-further // resolved.test_every)
    return replace(work, steps=round(work.steps * share), evaluations=tests)


def columns_of(sweep: Sweep) -> list[tuple[str, str, int | None]]:
    """Dataset and recipe of each setting, and the place of the one whose weights it starts from.

    They are in the sweep's order, but settings that start from others' weights come after these.
    """
    pairs = [
        (label, name)
        for name, recipe in sweep.trained.items()
        for label in sweep.trained_datasets(recipe)
    ]
    sources = {(label, name): sweep.start_of(name, label) for label, name in pairs}

    def depth(pair: tuple[str, str]) -> int:
        source = sources[pair]
        return 0 if source is None else 1 + depth(source)

    pairs.sort(key=depth)
    places = {pair: place for place, pair in enumerate(pairs)}
    starts = [sources[pair] for pair in pairs]
    return [
        (*pair, None if start is None else places[start])
        for pair, start in zip(pairs, starts, strict=True)
    ]


def evaluations_by_dataset(
    sweep: Sweep, views: Mapping[str, DatasetView], kept: KeptDatasets | None = None
) -> dict[str, dict[str, EvaluationSet]]:
    """The further test sets of the networks trained on each dataset, by the sweep's names.

    Where several networks of a run are tested, the name is followed by `Moment.suffix`. `kept`: see
    `load_dataset`. UserError names an evaluation that fits no dataset, or not one that it names.
    """
    asked: dict[str, dict[str, EvaluationSet]] = {}
    for name, spec in sweep.evaluations.items():
        try:
            sets = evaluation_sets(spec, views, kept).sets
        except UserError as error:
            raise said_of(f"evaluations.{name}", error) from None
        for label, evaluation_set in sets.items():
            for moment in moments(spec, sweep.most_epochs(label)):
                named = asked.setdefault(label, {})
                named[f"{name}{moment.suffix}"] = at_moment(evaluation_set, moment)
    return asked


def resolve_on(view: DatasetView, recipe: Recipe, label: str) -> ResolvedRecipe:
    """The recipe as used on a view; UserError where they do not fit."""
    return resolve(recipe, label, size_of_view(view), view)


def resolve(
    recipe: Recipe, label: str, size: DatasetSize, view: DatasetView | None = None
) -> ResolvedRecipe:
    """The recipe as used on a dataset, with all its keys; UserError where they do not fit.

    `view`: the dataset, where it is there. Texts have to tell its classes apart.
    """
    train_images = size.train_images
    with naming(label):
        if recipe.loss == "clip" and view is not None:
            check_names(view.classes)
            if recipe.texts == "captions" and not any(view.captions()):
                raise UserError(
                    "texts: captions: its training images have none; add them with: anynet-study "
                    "data captions NAME TABLE"
                )
        if train_images < 2:
            raise UserError(f"{train_images} training images are too few")
        if recipe.validates and not size.validation_images:
            asking = "select: best" if recipe.select == "best" else "patience"
            if recipe.thresholds == "validation":
                asking = "thresholds: validation"
            raise UserError(
                f"{asking}: there are no validation images; state the dataset's share of them, "
                "such as validation: 0.1"
            )
        warmup = recipe.warmup_epochs * steps_per_epoch(train_images, recipe.batch_size)
        if recipe.steps is not None and warmup >= recipe.steps and warmup > 0:
            raise UserError(f"warmup_epochs: {warmup:g} steps of warm-up, of {recipe.steps} in all")
        if train_images < 2 * recipe.accumulation:
            raise UserError(
                f"accumulation: {train_images} training images make no {recipe.accumulation} parts"
            )
        # What is not there yet can be packed as large as a recipe asks (`data add --size`).
        side = size.side if size.known else max(size.side, recipe.resolution or 0)
        return recipe.resolved(side, size.classes, size.multi_label, view.metric if view else None)


def refuse_twins(settings: Sequence[Setting]) -> None:
    """UserError for two names of one setting: a run is recorded once, so one would have none."""
    names: dict[object, str] = {}
    for setting in settings:
        this = f"dataset {setting.dataset} with recipe {setting.recipe}"
        start = setting.start, setting.inherits, setting.weights
        key = as_json(setting.data), setting.resolved, start, setting.stem
        other = names.setdefault(key, this)
        if other != this:
            raise UserError(
                f"{this}: the same images and the same training as {other}; leave one of them out"
            )
