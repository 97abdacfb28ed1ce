from .analysis import apr as apr
from .analysis import plots as plots
from .analysis.analyses import load as load
from .analysis.study import Study as Study
from .cli.whole_study import run as run
from .core.errors import UserError as UserError
from .design_space import Architecture as Architecture
from .design_space import DesignSpace as DesignSpace
from .design_space import Population as Population
from .design_space import reference as reference
from .engine.stages import launch as launch
from .engine.sweep import Sweep as Sweep
from .store import ResultStore as ResultStore
from .store import ResultStores as ResultStores

__version__: str
