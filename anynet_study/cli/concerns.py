"""What already makes the answer of a study under way worth little: for `status` and `serve`.

The engine knows the plan and what is recorded, the analysis what these are worth.
"""

from collections import Counter, defaultdict
from statistics import fmean
from typing import Any

import numpy as np

from anynet_study.analysis.analyses import Concern, Evidence, concerns
from anynet_study.analysis.analyses.health import RUNS, noise_of
from anynet_study.core.metrics import chance_error
from anynet_study.engine.dispatch import JournalReader, OpenStudy
from anynet_study.engine.planning import resolve_on


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
    noise = None
    if any(len(each) > 1 for of in errors.values() for each in of.values()):
        import pandas as pd  # most studies train nothing twice, and `status` is not to wait for it

        noise = noise_of(pd.DataFrame(known, columns=RUNS))
    evidence = Evidence(
        {name: np.array([fmean(each) for each in of.values()]) for name, of in errors.items()},
        Counter((dataset, status) for _, dataset, _, status, _ in known),
        len({architecture for of in errors.values() for architecture in of}),
        _datasets_of(study),
        noise=noise,
    )
    return [concern for concern in concerns(evidence) if concern.kind in ("guessing", "noise")]


def _datasets_of(study: OpenStudy) -> list[dict[str, Any]]:
    rows = []
    for name, view in study.views.items():
        stated = study.sweep.recipes[study.sweep.standing_for(name)]
        metric = resolve_on(view, stated.for_dataset(name), name).metric
        chance = chance_error(view.test_labels, len(view.classes), metric)
        known = {"chance": chance, "test_images": len(view.test_index), "metric": metric}
        rows.append({"dataset": name, **known})
    return rows
