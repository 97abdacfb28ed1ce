from .arguments import (
    Family as Family,
)
from .arguments import (
    Resamples as Resamples,
)
from .arguments import (
    Source as Source,
)
from .arguments import (
    SourceName as SourceName,
)
from .arguments import (
    StudyOptions as StudyOptions,
)
from .arguments import (
    Targets as Targets,
)
from .arguments import (
    check_figure as check_figure,
)
from .arguments import (
    parse_roles as parse_roles,
)
from .arguments import (
    save_figure as save_figure,
)
from .arguments import (
    with_study_options as with_study_options,
)
from .design_spaces import (
    COMPLEXITIES as COMPLEXITIES,
)
from .design_spaces import (
    Spaces as Spaces,
)
from .design_spaces import (
    read_spaces as read_spaces,
)
from .design_spaces import (
    split_by as split_by,
)
from .design_spaces import (
    split_by_name as split_by_name,
)
from .design_spaces import (
    weigh as weigh,
)
from .loading import curves_of as curves_of
from .loading import load as load
from .loading import study_of as study_of
from .registry import (
    ANALYSES as ANALYSES,
)
from .registry import (
    FIGURES as FIGURES,
)
from .registry import (
    SECTIONS as SECTIONS,
)
from .registry import (
    TABLES as TABLES,
)
from .registry import (
    TOPICS as TOPICS,
)
from .registry import (
    Finding as Finding,
)
from .registry import (
    Section as Section,
)
from .registry import (
    chosen_names as chosen_names,
)
from .registry import (
    findings as findings,
)
