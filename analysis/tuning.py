"""Papers 3 and 4: what was tuned, at what cost, and do tuned rankings carry over?

    python analysis/tuning.py studies/paper4
    python analysis/tuning.py studies/paper3 --recipe grid

The budget spent and the settings chosen by dataset, tuned errors against those under one setting
for all, and the correlations of tuned errors with the errors on the source and with each other.
"""

from anynet_study import apr
from anynet_study.analysis.analyses.script import script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError


def tuning(study: Study) -> None:
    """Print the tables tuning and tuned, and correlations of the tuned errors."""
    for name in ("tuning", "tuned"):
        try:
            show(study.analysis(name).title, study.table(name))
        except UserError as error:
            if name == "tuning":
                raise
            print(f"{error}\n")
    errors = study.errors.dropna(axis=1, how="all")
    table = apr.correlations(errors, **study.options.correlating)
    show("Correlations of the tuned errors", table)


if __name__ == "__main__":
    script(tuning)
