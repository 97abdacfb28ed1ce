"""A recipe as it is used on a dataset of so many images: what does not fit is one line."""

import pytest

from anynet_study.core.errors import UserError
from anynet_study.engine.planning.settings import resolve
from anynet_study.engine.planning.sizes import DatasetSize
from anynet_study.engine.training import Recipe


def size(train_images: int, validation_images: int = 0) -> DatasetSize:
    return DatasetSize(10, train_images, 10, 8, known=True, validation_images=validation_images)


def test_warm_up_is_counted_in_steps_of_the_dataset() -> None:
    recipe = Recipe(epochs=None, steps=21, warmup_epochs=2, batch_size=10)
    assert resolve(recipe, "d", size(109)).steps == 21
    with pytest.raises(UserError, match=r"d: warmup_epochs: 22 steps of warm-up, of 21 in all"):
        resolve(recipe, "d", size(110))


def test_two_images_are_the_fewest() -> None:
    resolve(Recipe(epochs=1), "d", size(2))
    with pytest.raises(UserError, match="d: 1 training images are too few"):
        resolve(Recipe(epochs=1), "d", size(1))


@pytest.mark.parametrize(
    ("settings", "asking"),
    [
        ({"select": "best"}, "select: best"),
        ({"patience": 2}, "patience"),
    ],
)
def test_what_validates_needs_validation_images(settings: dict[str, object], asking: str) -> None:
    recipe = Recipe.model_validate({"epochs": 2} | settings)
    resolve(recipe, "d", size(100, validation_images=5))
    with pytest.raises(UserError, match=f"d: {asking}: there are no validation images"):
        resolve(recipe, "d", size(100))
