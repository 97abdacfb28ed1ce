"""The training regime of a run, as stated in a sweep file: how long, how fast, on what images."""

import math
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from anynet_study.core.errors import UserError
from anynet_study.core.metrics import Metric
from anynet_study.engine.training.operators import MIXING, Operator

#: The warm-up starts at this share of the learning rate, as in the study's code base.
WARMUP_START = 0.1
#: From this many classes on, top-5 is the error of a run (paper 1, Table 2).
TOP5_CLASSES = 100


def _ascending(milestones: tuple[float, ...]) -> tuple[float, ...]:
    if list(milestones) != sorted(set(milestones)):
        raise ValueError("must ascend")
    return milestones


def _templates(templates: tuple[str, ...]) -> tuple[str, ...]:
    for template in templates:
        if template.count("{}") != 1:
            raise ValueError(f"{template!r}: {{}} must stand once, in the place of the class")
    return templates


Fraction = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Ratio = Annotated[float, Field(gt=0)]
#: Keys that were added after the first runs, and are no part of an id where they mean nothing:
#: those of resized crops, and those that have their defaults.
OF_RESIZED_CROPS = ("crop_area", "crop_ratio")
LATER = (
    *("test_crop", "precise_bn", "select", "patience", "restart_epochs", "restart_factor"),
    *("augment", "loss", "templates", "embedding", "texts", "thresholds", "precision"),
    *("test_every", "pooling", "schedule_by"),
)
#: What the head of a network is trained with: those of two recipes fit where these are alike.
OF_HEADS = ("loss", "templates", "texts", "embedding")
#: Metrics that make no sense where images have several classes.
OF_ONE_CLASS = ("balanced_accuracy", "quadratic_kappa")


def _metric_of(classes: int, multi_label: bool) -> Metric:
    if multi_label:
        return "macro_f1"
    return "top5" if classes >= TOP5_CLASSES else "top1"


class Recipe(BaseModel):
    """A basic regime: SGD with momentum, cosine schedule, flip, crop (paper 1, section 4.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    #: Passes over the training images; None where `steps` says how long a run is.
    epochs: int | None = Field(20, ge=1, le=100_000)
    #: Optimiser steps of a run, instead of `epochs`; the last pass may be cut short.
    steps: int | None = Field(None, ge=1, le=10_000_000)
    #: Images per step. The last, smaller batch of an epoch is dropped, unless it is the only one.
    batch_size: int = Field(128, ge=2)
    #: The number of equal parts into which a step's batch is cut, to save memory: they follow each
    #: other, and gradients are averaged over them. Batch norm sees one part at a time, so this
    #: changes the result.
    accumulation: int = Field(1, ge=1)
    optimizer: Literal["sgd", "adamw"] = "sgd"
    #: Learning rate after the warm-up, at any batch size: it is not rescaled.
    lr: float = Field(0.1, gt=0)
    #: Of SGD alone.
    momentum: float = Field(0.9, ge=0, lt=1)
    #: Of SGD: Nesterov's form of the momentum.
    nesterov: bool = False
    #: Of AdamW: decay of the averages of gradients and of their squares.
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (
        0.9,
        0.999,
    )
    #: On every parameter, batch norm and biases included: L2 penalty (SGD), decoupled (AdamW).
    weight_decay: float = Field(5e-5, ge=0)
    #: Shape of the learning rate after the warm-up; cosine ends at zero.
    schedule: Literal["cosine", "multistep", "constant"] = "cosine"
    #: How often the learning rate moves: at each step, or at each epoch, whose first step's rate
    #: then holds for all of it, warm-up included; so the last epoch trains well above zero.
    schedule_by: Literal["step", "epoch"] = "step"
    #: For cosine: after so many epochs it starts again from `lr` (warm restarts). By
    #: default, it decays once over the whole run.
    restart_epochs: float | None = Field(None, gt=0)
    #: How many times as long as the one before it each decay takes after a warm restart.
    restart_factor: float = Field(1.0, ge=1)
    #: For multistep: the shares of the run after which the learning rate is multiplied by `gamma`.
    milestones: Annotated[tuple[Fraction, ...], AfterValidator(_ascending)] = (0.5, 0.75)
    gamma: float = Field(0.1, gt=0, le=1)
    #: Epochs of linear rise from a tenth of `lr`; fractions are allowed.
    warmup_epochs: float = Field(0.0, ge=0)
    #: Before each test, the statistics of batch norms are set to their means over batches of about
    #: so many training images, augmented as in training; 0: tests use the running averages.
    precise_bn: int = Field(0, ge=0)
    #: Epochs from one test of the learning curve to the next; the last epoch is always tested. More
    #: than 1 saves time where epochs are short.
    test_every: int = Field(1, ge=1)
    #: cross_entropy: of the classes, each on its own where images have several. clip: which image
    #: of a batch goes with which text (contrastive, in both directions); texts are of the classes,
    #: by `templates`. Tests are zero-shot: the class whose texts are most like the image. l1: of
    #: classes that are grades, in their order: the network puts out one number, the loss is its
    #: mean absolute difference from the grade, 0, 1, ..., and tests take the nearest grade.
    loss: Literal["cross_entropy", "clip", "l1"] = "cross_entropy"
    #: Of loss clip: texts with {} in the place of the class. Each image is trained with one, drawn
    #: for each epoch; tests take the mean of all. See `texts`.
    templates: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_templates)] = (
        "a photo of a {}",
    )
    #: Of loss clip, what images are trained with: templates, or their own captions, which `data
    #: captions` adds to a dataset. An image without one has the templates of its class.
    texts: Literal["templates", "captions"] = "templates"
    #: Of loss clip: length of the vectors by which images and texts are compared.
    embedding: int = Field(256, ge=2, le=65_536)
    #: How the network makes one number of each of its last maps: average, or gem, the generalised
    #: mean, whose power is learned, from 3. Where weights are taken over without the head, the
    #: power begins anew, too. Of networks that are no AnyNet: average, which means their own.
    pooling: Literal["average", "gem"] = "average"
    #: In which numbers convolutions compute: float32, or bfloat16, where only they do. By
    #: default, what is quick on the device: float32 on a CPU, bfloat16 on a GPU that has it. On a
    #: CPU with AVX-512 and bfloat16, bfloat16 is faster from about 96 pixels on.
    precision: Literal["float32", "bfloat16"] | None = None
    #: Share of the target spread evenly over all classes, in training only.
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    #: Mirror half of the training images left to right.
    flip: bool = True
    #: pad: pad by `padding`, then cut at a random place; random: cut at a random place; resized:
    #: cut out a random box and resize it; none. But for pad, tests see the central cut.
    crop: Literal["pad", "random", "resized", "none"] = "pad"
    #: Pixels added on each side before a padded crop (value: the dataset's mean colour).
    padding: int = Field(4, ge=0, le=1024)
    #: Of resized crops: the box's share of the image, drawn evenly from this range.
    crop_area: tuple[Share, Share] = (0.08, 1.0)
    #: Of resized crops: the box's width over its height, drawn evenly in logarithms.
    crop_ratio: tuple[Ratio, Ratio] = (3 / 4, 4 / 3)
    #: What is done to training images before the crop, one after the other, by name or with
    #: parameters, as `{rotation: {degrees: 15, probability: 0.5}}`: blur, sharpness, affine,
    #: colour_jitter, contrast, equalise, grayscale, horizontal_flip, invert, perspective,
    #: posterise, resized_crop, rotation, sharpness_change, solarise, vertical_flip, jpeg (of a
    #: quality), randaugment (some of them drawn), and augmix (the image mixed with chains of
    #: them). After the crop mixup and cutmix mix pairs of a batch and
    #: their targets.
    augment: tuple[Operator, ...] = ()
    #: Tests see the central square of this share of the image's side, resized to the network's
    #: input. By default, as many pixels as the input has, not resized.
    test_crop: Share | None = None
    #: Side of the network's input in pixels; by default, that of the packed images.
    resolution: int | None = Field(None, ge=4)
    #: The metric of *the* error of a run, such as top1 or auroc. By default, the dataset's usual
    #: one, if it has one; else macro_f1 where images have several classes, top5 with 100 classes
    #: or more, and top1 otherwise.
    metric: Metric | None = None
    #: Whose weights are the final ones: those of the last epoch, or of the first with the lowest
    #: error on the validation images, on the run's metric. Test images have no part in it.
    select: Literal["last", "best"] = "last"
    #: The run ends after so many epochs without a lower error on the validation images.
    patience: int | None = Field(None, ge=1)
    #: Where images have several classes, those are predicted whose probability is above a half; or,
    #: by `validation`, each above its threshold with the highest F1 on validation images: at the
    #: end of training the biases of the head are moved by it.
    thresholds: Literal["half", "validation"] = "half"
    #: What is trained: all layers, or only the last one (a linear probe of pretrained weights).
    trained: Literal["all", "head"] = "all"

    @model_validator(mode="before")
    @classmethod
    def _epochs_or_steps(cls, keys: Any) -> Any:
        if isinstance(keys, dict) and keys.get("steps") is not None:
            if keys.get("epochs") is not None:
                raise ValueError("epochs and steps: only one of them says how long a run is")
            return keys | {"epochs": None}
        return keys

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.epochs is None and self.steps is None:
            raise ValueError("epochs or steps: one of them must say how long a run is")
        if self.epochs is not None and 0 < self.epochs <= self.warmup_epochs:
            raise ValueError(
                f"warmup_epochs {self.warmup_epochs:g} must be less than epochs {self.epochs}"
            )
        if self.batch_size % self.accumulation or self.batch_size < 2 * self.accumulation:
            raise ValueError(
                f"accumulation {self.accumulation} must divide batch_size {self.batch_size} into "
                "parts of at least 2 images"
            )
        for name in OF_RESIZED_CROPS:
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} [{low:g}, {high:g}]: the lowest comes first")
        if self.nesterov and not (self.optimizer == "sgd" and self.momentum > 0):
            raise ValueError("nesterov: only with optimizer sgd and a momentum above 0")
        if self.restart_epochs is not None and self.schedule != "cosine":
            raise ValueError("restart_epochs: only with schedule cosine")
        if sum(operator.probability for operator in self.mixing) > 1:
            raise ValueError(
                "augment: a batch is mixed in one way; the probabilities of mixup and cutmix must "
                "not exceed 1 together"
            )
        if self.precise_bn and self.trained == "head":
            raise ValueError("precise_bn: with trained: head, statistics stay as pretrained")
        return self

    @property
    def operators(self) -> list[Operator]:
        """Return what is done to single images in training."""
        return [operator for operator in self.augment if operator.name not in MIXING]

    @property
    def mixing(self) -> list[Operator]:
        """Return what mixes the images of a batch in training."""
        return [operator for operator in self.augment if operator.name in MIXING]

    @model_validator(mode="after")
    def _texts_have_no_labels(self) -> Self:
        if self.loss == "clip" and (self.label_smoothing or self.mixing):
            what = "label_smoothing" if self.label_smoothing else "augment: mixup and cutmix"
            raise ValueError(f"{what}: with loss clip there is a text for each image, and no label")
        if self.loss == "l1" and self.label_smoothing:
            raise ValueError("label_smoothing: not with loss l1, whose target is one number")
        return self

    @property
    def validates(self) -> bool:
        """Tell whether validation images are looked at."""
        chooses = self.select == "best" or self.thresholds == "validation"
        return chooses or self.patience is not None

    def resolved(
        self, size: int, classes: int, multi_label: bool = False, usual: Metric | None = None
    ) -> "ResolvedRecipe":
        """Fill in what depends on the dataset, packed at `size` pixels; equal runs look equal.

        `usual`: the dataset's own metric, where it has one. Raises UserError where an image is too
        small for the crop, and for what makes no sense with these classes.
        """
        resolution = self.resolution or size
        padding = self.padding if self.crop == "pad" else 0
        if resolution > size + 2 * padding:
            raise UserError(
                f"recipe: resolution {resolution} exceeds the images' {size} pixels "
                f"(plus {padding} of padding on each side); pack the dataset larger"
            )
        metric = self.metric or usual or _metric_of(classes, multi_label)
        if metric == "top5" and classes <= 5:
            raise UserError(f"metric top5 needs more than 5 classes, it has {classes}")
        if multi_label and metric in OF_ONE_CLASS:
            raise UserError(
                f"metric {metric} needs one class an image, here are several; legal: "
                f"{', '.join(name for name in get_args(Metric) if name not in OF_ONE_CLASS)}"
            )
        if not multi_label and self.thresholds == "validation":
            raise UserError("thresholds: validation needs several classes an image, here is one")
        if multi_label and self.loss != "cross_entropy":
            raise UserError(f"loss {self.loss} needs one class an image, here are several")
        if multi_label and self.label_smoothing:
            raise UserError("label_smoothing needs one class an image, here are several")
        if multi_label and any(operator.name == "cutmix" for operator in self.mixing):
            raise UserError(
                "augment: cutmix needs one class an image, here are several: which of them are in "
                "a part of it is not known"
            )
        unused = {name: Recipe.model_fields[name].default for name in self._unused()}
        filled = {"resolution": resolution, "padding": padding, "metric": metric}
        keys = {name: getattr(self, name) for name in Recipe.model_fields}
        return ResolvedRecipe(**keys | unused | filled)

    def _unused(self) -> list[str]:
        """Keys without effect, which must not tell equal runs apart."""
        unused = ["betas"] if self.optimizer == "sgd" else ["momentum", "nesterov"]
        if self.restart_epochs is None:
            unused += ["restart_factor"]
        if self.loss != "clip":
            unused += ["templates", "texts", "embedding"]
        if self.schedule != "multistep":
            unused += ["milestones", "gamma"]
        if self.schedule == "constant" and not self.warmup_epochs:
            unused += ["schedule_by"]
        return unused if self.crop == "resized" else [*unused, *OF_RESIZED_CROPS]


class ResolvedRecipe(Recipe):
    """A recipe with all that depends on the dataset filled in: `Recipe.resolved` makes it."""

    resolution: int = Field(ge=4)
    metric: Metric

    @model_serializer(mode="wrap")
    def _of_effect(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out later keys where they mean nothing, so that earlier runs keep their ids."""
        content: dict[str, Any] = dump(self)
        unused = [key for key in LATER if getattr(self, key) == Recipe.model_fields[key].default]
        if self.crop != "resized":
            unused += OF_RESIZED_CROPS
        return {key: value for key, value in content.items() if key not in unused}


# How long a run is, and its learning rate as a function of the step.


def steps_per_epoch(images: int, batch_size: int) -> int:
    """Steps of one epoch: whole batches only, but at least one."""
    return max(1, images // batch_size)


def total_steps(recipe: Recipe, steps_an_epoch: int) -> int:
    """Optimiser steps of a run."""
    return recipe.steps or (recipe.epochs or 0) * steps_an_epoch


def epoch_lengths(recipe: Recipe, steps_an_epoch: int) -> list[int]:
    """Steps of each epoch; all but the last are whole."""
    whole, rest = divmod(total_steps(recipe, steps_an_epoch), steps_an_epoch)
    return [steps_an_epoch] * whole + ([rest] if rest else [])


def is_tested(recipe: Recipe, epoch: int, epochs: int) -> bool:
    """Tell whether the network is tested after 0-based `epoch` of `epochs`."""
    return (epoch + 1) % recipe.test_every == 0 or epoch + 1 == epochs


def learning_rate(recipe: Recipe, step: int, steps_an_epoch: int) -> float:
    """Learning rate of 0-based `step`: linear warm-up times a decay over the whole run.

    With warm restarts the decay is over each cycle. The cosine is sampled at the start of each
    step, or of each epoch (`schedule_by`), so the first step after no warm-up trains at `recipe.lr`
    and the last one above zero.
    """
    if recipe.schedule_by == "epoch":
        step -= step % steps_an_epoch
    progress = step / total_steps(recipe, steps_an_epoch)
    if recipe.restart_epochs is not None:
        progress = _of_cycle(step / steps_an_epoch, recipe.restart_epochs, recipe.restart_factor)
    lr = recipe.lr
    if recipe.schedule == "cosine":
        lr *= 0.5 * (1.0 + math.cos(math.pi * progress))
    elif recipe.schedule == "multistep":
        lr *= recipe.gamma ** sum(milestone <= progress for milestone in recipe.milestones)
    warmup_steps = recipe.warmup_epochs * steps_an_epoch
    if step < warmup_steps:
        lr *= WARMUP_START + (1.0 - WARMUP_START) * step / warmup_steps
    return lr


def _of_cycle(epochs: float, length: float, factor: float) -> float:
    """Share of its cycle that has passed after `epochs`; the first cycle takes `length` epochs."""
    while epochs >= length:
        epochs -= length
        length *= factor
    return epochs / length
