"""What further evaluations of a trained network consist of: forward passes, and transforms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from anynet_study.design_space.population_table import Group
from anynet_study.dispatch.cost.features import Features, FloatArray, Workload, run_features
from anynet_study.training.evaluation import EvaluationSet, TransformName

#: Time of each transform by pixel, as a share of the costliest one's; measured on a CPU.
COST: Mapping[TransformName, float] = MappingProxyType(
    {
        "identity": 0.0,
        "blur": 0.9,
        "sharpness": 0.2,
        "affine": 0.9,
        "colour_jitter": 1.0,
        "contrast": 0.12,
        "equalise": 0.25,
        "grayscale": 0.1,
        "horizontal_flip": 0.01,
        "invert": 0.005,
        "perspective": 0.95,
        "posterise": 0.005,
        "resized_crop": 0.95,
        "rotation": 0.75,
        "sharpness_change": 0.2,
        "solarise": 0.15,
        "vertical_flip": 0.005,
    }
)


@dataclass(frozen=True)
class FurtherTest:
    """An evaluation of a run's final weights."""

    evaluation_id: str
    images: int
    #: Side of the packed images in pixels, at which they are transformed.
    side: int
    transform: TransformName
    #: Of the network.
    classes: int

    @classmethod
    def of(cls, evaluation_set: EvaluationSet) -> "FurtherTest":
        """The evaluation of images that are there."""
        return cls(
            evaluation_set.evaluation_id,
            len(evaluation_set.index),
            evaluation_set.dataset.size,
            evaluation_set.transform,
            len(evaluation_set.allowed),
        )


def evaluation_features(
    groups: Sequence[Group], tests: Sequence[FurtherTest], resolution: int
) -> FloatArray:
    """What all `tests` of each network take together, shape (n, features); rows are the groups'.

    `resolution`: of the network's input in pixels.
    """
    together = np.zeros((sum(len(group.rows) for group in groups), len(Features._fields)))
    # Those alike are counted at once.
    for images, classes in sorted({(test.images, test.classes) for test in tests}):
        alike = [it for it in tests if (it.images, it.classes) == (images, classes)]
        pixels = sum(COST[test.transform] * test.side**2 * images for test in alike)
        work = Workload(
            train_images=0,
            test_images=images,
            steps=0,
            evaluations=len(alike),
            batch_size=0,
            parts=1,
            training_passes=0,
            resolution=resolution,
            classes=classes,
            transformed=pixels,
        )
        together += run_features(groups, work)
    return together
