"""What the pilot says of each target: whether its errors still differ after 4,686 steps.

    anynet-study run analysis/long-targets/pilot.yaml
    python analysis/long-targets/pilot.py long-targets-pilot [--kept]

Errors on held-out training images alone are looked at. With --kept, only the names of the targets
that are not at the floor are printed, as recipes.long.datasets of the sweep takes them.
"""

import sys

import pandas as pd
from lengths import TARGETS, floors

from anynet_study.analysis.study import Study

EVALUATION = "held-out"


def told(study: Study) -> pd.DataFrame:
    """The table of `floors`, of the pilot's own evaluation."""
    errors = pd.DataFrame({name: study.evaluated[name][EVALUATION] for name in TARGETS})
    counts = pd.DataFrame(study.images).T.loc[list(TARGETS)]
    return floors(errors.dropna(), counts[EVALUATION], counts["test"])


def main(name: str, *options: str) -> None:
    table = told(Study.open(name))
    if "--kept" in options:
        print(f"[{', '.join(table['target'][~table['floor']])}]")
    else:
        print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
