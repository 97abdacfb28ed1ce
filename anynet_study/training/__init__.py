"""The training of one run: spec -> feeds -> engine -> evaluation -> record.

A `RunSpec` (architecture, data, `Recipe`, seed) says what a run is. `DeviceImages` feed its images,
which `augment` crops and flips; an engine (`fast`, or `reference`, which defines the result) trains
its `network` step by step; `engine.steps` loops over the epochs, with `checkpoint`, and gives an
`Outcome`, of which `dispatch` makes a record. `evaluation` is about further test sets. What takes
long to import is imported when it is first used, and nothing here that a specification needs
imports torch.
"""

from typing import TYPE_CHECKING

from anynet_study.lazy import on_first_use
from anynet_study.training.options import (
    Engine,
    Options,
    device_is_lost,
    is_out_of_memory,
    step_down,
    with_less_memory,
)
from anynet_study.training.recipe import (
    Recipe,
    ResolvedRecipe,
    epoch_lengths,
    learning_rate,
    steps_per_epoch,
    total_steps,
)
from anynet_study.training.spec import RunSpec, as_json, canonical_text, id_of

if TYPE_CHECKING:
    from anynet_study.training.augment import Preprocessor, epoch_tables
    from anynet_study.training.checkpoint import (
        Checkpoint,
        InterruptedRunError,
        Weights,
        load_weights,
        save_weights,
    )
    from anynet_study.training.engine import Outcome, make_trainer, steps, train
    from anynet_study.training.evaluation import (
        EvaluationSet,
        EvaluationSpec,
        NotApplicableError,
        TransformName,
        evaluation_sets,
        make_evaluation_set,
    )
    from anynet_study.training.evaluation_pass import evaluate
    from anynet_study.training.feeds import DeviceImages
    from anynet_study.training.network import arrange, initial_network
    from anynet_study.training.together import Turns, train_together

__all__ = [
    "Checkpoint",
    "DeviceImages",
    "Engine",
    "EvaluationSet",
    "EvaluationSpec",
    "InterruptedRunError",
    "NotApplicableError",
    "Options",
    "Outcome",
    "Preprocessor",
    "Recipe",
    "ResolvedRecipe",
    "RunSpec",
    "TransformName",
    "Turns",
    "Weights",
    "arrange",
    "as_json",
    "canonical_text",
    "device_is_lost",
    "epoch_lengths",
    "epoch_tables",
    "evaluate",
    "evaluation_sets",
    "id_of",
    "initial_network",
    "is_out_of_memory",
    "learning_rate",
    "load_weights",
    "make_evaluation_set",
    "make_trainer",
    "save_weights",
    "step_down",
    "steps",
    "steps_per_epoch",
    "total_steps",
    "train",
    "train_together",
    "with_less_memory",
]

_HOMES = {
    "augment": ("Preprocessor", "epoch_tables"),
    "checkpoint": (
        "Checkpoint",
        "InterruptedRunError",
        "Weights",
        "load_weights",
        "save_weights",
    ),
    "together": ("Turns", "train_together"),
    "engine": ("Outcome", "make_trainer", "steps", "train"),
    "evaluation": (
        "EvaluationSet",
        "EvaluationSpec",
        "NotApplicableError",
        "TransformName",
        "evaluation_sets",
        "make_evaluation_set",
    ),
    "evaluation_pass": ("evaluate",),
    "feeds": ("DeviceImages",),
    "network": ("arrange", "initial_network"),
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names}
)
