"""The training regime of a run, as stated in a sweep file."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from anynet_study.errors import UserError


class Recipe(BaseModel):
    """A basic regime: SGD with momentum, cosine schedule, flip, crop (paper 1, section 4.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    #: Passes over the training images.
    epochs: int = Field(20, ge=1)
    #: Images a step. The last, smaller batch of an epoch is dropped, unless it is the only one.
    batch_size: int = Field(128, ge=2)
    #: Learning rate after the warm-up, at any batch size: it is not rescaled.
    lr: float = Field(0.1, gt=0)
    momentum: float = Field(0.9, ge=0, lt=1)
    #: L2 penalty on every parameter, batch norm and biases included.
    weight_decay: float = Field(5e-5, ge=0)
    #: Shape of the learning rate after the warm-up, a step at a time, ending at zero for cosine.
    schedule: Literal["cosine", "constant"] = "cosine"
    #: Epochs of linear rise from a tenth of `lr`; fractions are allowed.
    warmup_epochs: float = Field(0.0, ge=0)
    #: Mirror half of the training images left to right.
    flip: bool = True
    #: pad: pad by `padding`, then cut at a random place; random: cut at a random place; none.
    crop: Literal["pad", "random", "none"] = "pad"
    #: Pixels added on each side before a padded crop (value: the dataset's mean colour).
    padding: int = Field(4, ge=0)
    #: Side of the network's input in pixels; None: the size at which the dataset is packed.
    resolution: int | None = Field(None, ge=4)
    #: Which error is *the* error of a run.
    metric: Literal["top1", "top5"] = "top1"

    @model_validator(mode="after")
    def _warm_up_ends(self) -> Self:
        if self.warmup_epochs >= self.epochs and self.warmup_epochs > 0:
            raise ValueError(
                f"warmup_epochs {self.warmup_epochs:g} must be less than epochs {self.epochs}"
            )
        return self

    def resolved(self, size: int) -> "Recipe":
        """Fill in what depends on the dataset, packed at `size` pixels; equal runs look equal.

        Raises UserError where an image is too small for the crop.
        """
        resolution = self.resolution or size
        padding = self.padding if self.crop == "pad" else 0
        if resolution > size + 2 * padding:
            raise UserError(
                f"recipe: resolution {resolution} exceeds the images' {size} pixels "
                f"(plus {padding} of padding on each side); pack the dataset larger"
            )
        return self.model_copy(update={"resolution": resolution, "padding": padding})
