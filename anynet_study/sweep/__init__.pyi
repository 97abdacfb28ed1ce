from .launch import Launch as Launch
from .population import POPULATION_FILE as POPULATION_FILE
from .population import PopulationSpec as PopulationSpec
from .sweep import (
    DatasetSpec as DatasetSpec,
)
from .sweep import (
    RecipeSpec as RecipeSpec,
)
from .sweep import (
    Replicates as Replicates,
)
from .sweep import (
    Sweep as Sweep,
)
from .text import (
    apply_override as apply_override,
)
from .text import (
    describe as describe,
)
from .text import (
    load_yaml as load_yaml,
)
from .text import (
    parse_yaml as parse_yaml,
)
