from . import apr as apr
from . import plots as plots
from .analyses import load as load
from .design_space import Architecture as Architecture
from .design_space import DesignSpace as DesignSpace
from .design_space import Population as Population
from .design_space import reference as reference
from .errors import UserError as UserError
from .stages import launch as launch
from .stages import run as run
from .store import ResultStore as ResultStore
from .store import ResultStores as ResultStores
from .study import Study as Study
from .sweep import Sweep as Sweep

__version__: str
