from .analyses import load as load
from .design_space import Architecture as Architecture
from .design_space import DesignSpace as DesignSpace
from .design_space import Population as Population
from .design_space import reference as reference
from .store import ResultStore as ResultStore
from .store import ResultStores as ResultStores
from .sweep import Sweep as Sweep
