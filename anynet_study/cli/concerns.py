"""Tell what already makes the answer of a study under way worth little: for `status` and `serve`.

The engine knows the plan and what is recorded, the analysis what these are worth.
"""

from collections import Counter, defaultdict
from statistics import fmean

import numpy as np

from anynet_study.analysis.analyses import Concern, Evidence, concerns
from anynet_study.analysis.analyses.health import RUNS
from anynet_study.engine.dispatch import JournalReader, OpenStudy
from anynet_study.engine.stages import dataset_table


def concerns_so_far(study: OpenStudy, reader: JournalReader) -> list[Concern]:
    """Return what makes the answer of a study that may still train worth little, the worst first.

    By the runs that `reader` has read, under the recipes whose errors are analysed.
    Nothing of what further runs may mend, such as that they are few.
    """
    recorded = reader.outcomes()
    known = [
        (run.architecture, run.dataset, run.replicate, *recorded[run.run_id])
        for run in study.plan
        if run.run_id in recorded
        and study.plan.called(run) == study.sweep.standing_for(run.dataset)
    ]
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for architecture, dataset, _, _, error in known:
        errors[dataset][architecture].append(error)
    noise, weighted = None, "weight" in study.population.table.column_names
    if not weighted and any(len(each) > 1 for of in errors.values() for each in of.values()):
        # Most studies train nothing twice, and `status` is not to wait for these.
        import pandas as pd

        from anynet_study.analysis.analyses.noise import noise_of

        noise = noise_of(pd.DataFrame(known, columns=RUNS))
    evidence = Evidence(
        {name: np.array([fmean(each) for each in of.values()]) for name, of in errors.items()},
        Counter((dataset, status) for _, dataset, _, status, _ in known),
        len({architecture for of in errors.values() for architecture in of}),
        dataset_table(study.sweep, study.views).to_pylist(),
        noise=noise,
    )
    return [concern for concern in concerns(evidence) if concern.kind in ("guessing", "noise")]
