"""Evaluation on further test sets: what is asked (`spec`), of which images, and how (`run`).

Only `run` and the functions in `transforms` import torch.
"""

from anynet_study.training.evaluation.evaluation_set import (
    EvaluationSet,
    EvaluationSets,
    evaluation_sets,
    make_evaluation_set,
)
from anynet_study.training.evaluation.spec import EvaluationSpec

__all__ = [
    "EvaluationSet",
    "EvaluationSets",
    "EvaluationSpec",
    "evaluation_sets",
    "make_evaluation_set",
]
