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
from anynet_study.training.options import Engine as Engine
from anynet_study.training.options import Options as Options
from anynet_study.training.options import device_is_lost as device_is_lost
from anynet_study.training.options import is_out_of_memory as is_out_of_memory
from anynet_study.training.options import step_down as step_down
from anynet_study.training.options import with_less_memory as with_less_memory
from anynet_study.training.recipe import Recipe as Recipe
from anynet_study.training.recipe import ResolvedRecipe as ResolvedRecipe
from anynet_study.training.recipe import epoch_lengths as epoch_lengths
from anynet_study.training.recipe import learning_rate as learning_rate
from anynet_study.training.recipe import steps_per_epoch as steps_per_epoch
from anynet_study.training.recipe import total_steps as total_steps
from anynet_study.training.spec import RunSpec as RunSpec
from anynet_study.training.spec import as_json as as_json
from anynet_study.training.spec import canonical_text as canonical_text
from anynet_study.training.spec import id_of as id_of

if TYPE_CHECKING:
    from anynet_study.training.augment import Preprocessor as Preprocessor
    from anynet_study.training.checkpoint import Checkpoint as Checkpoint
    from anynet_study.training.checkpoint import InterruptedRunError as InterruptedRunError
    from anynet_study.training.checkpoint import Weights as Weights
    from anynet_study.training.checkpoint import load_weights as load_weights
    from anynet_study.training.checkpoint import save_weights as save_weights
    from anynet_study.training.engine import Outcome as Outcome
    from anynet_study.training.engine import make_trainer as make_trainer
    from anynet_study.training.engine import steps as steps
    from anynet_study.training.engine import train as train
    from anynet_study.training.evaluation import EvaluationSet as EvaluationSet
    from anynet_study.training.evaluation import EvaluationSpec as EvaluationSpec
    from anynet_study.training.evaluation import NotApplicableError as NotApplicableError
    from anynet_study.training.evaluation import TransformName as TransformName
    from anynet_study.training.evaluation import evaluation_sets as evaluation_sets
    from anynet_study.training.evaluation import make_evaluation_set as make_evaluation_set
    from anynet_study.training.evaluation_pass import evaluate as evaluate
    from anynet_study.training.feeds import DeviceImages as DeviceImages
    from anynet_study.training.network import arrange as arrange
    from anynet_study.training.together import Turns as Turns
    from anynet_study.training.together import train_together as train_together

_HOMES = {
    "augment": ("Preprocessor",),
    "checkpoint": ("Checkpoint", "InterruptedRunError", "Weights", "load_weights", "save_weights"),
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
    "network": ("arrange",),
    "together": ("Turns", "train_together"),
}
__getattr__ = on_first_use(
    __name__, {name: module for module, names in _HOMES.items() for name in names}
)
