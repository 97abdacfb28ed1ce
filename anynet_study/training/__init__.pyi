from .augment import Preprocessor as Preprocessor
from .checkpoint import (
    Checkpoint as Checkpoint,
)
from .checkpoint import (
    InterruptedRunError as InterruptedRunError,
)
from .checkpoint import (
    Weights as Weights,
)
from .checkpoint import (
    load_weights as load_weights,
)
from .checkpoint import (
    save_weights as save_weights,
)
from .engine import Outcome as Outcome
from .engine import make_trainer as make_trainer
from .engine import steps as steps
from .engine import train as train
from .evaluation import (
    EvaluationSet as EvaluationSet,
)
from .evaluation import (
    EvaluationSpec as EvaluationSpec,
)
from .evaluation import (
    NotApplicableError as NotApplicableError,
)
from .evaluation import (
    TransformName as TransformName,
)
from .evaluation import (
    evaluation_sets as evaluation_sets,
)
from .evaluation import (
    make_evaluation_set as make_evaluation_set,
)
from .evaluation_pass import evaluate as evaluate
from .feeds import DeviceImages as DeviceImages
from .network import arrange as arrange
from .options import (
    Engine as Engine,
)
from .options import (
    Options as Options,
)
from .options import (
    device_is_lost as device_is_lost,
)
from .options import (
    is_out_of_memory as is_out_of_memory,
)
from .options import (
    step_down as step_down,
)
from .options import (
    with_less_memory as with_less_memory,
)
from .recipe import (
    Recipe as Recipe,
)
from .recipe import (
    ResolvedRecipe as ResolvedRecipe,
)
from .recipe import (
    epoch_lengths as epoch_lengths,
)
from .recipe import (
    learning_rate as learning_rate,
)
from .recipe import (
    steps_per_epoch as steps_per_epoch,
)
from .recipe import (
    total_steps as total_steps,
)
from .spec import (
    RunSpec as RunSpec,
)
from .spec import (
    as_json as as_json,
)
from .spec import (
    canonical_text as canonical_text,
)
from .spec import (
    id_of as id_of,
)
from .together import Turns as Turns
from .together import train_together as train_together
