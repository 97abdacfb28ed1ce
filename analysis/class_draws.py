"""Beyond paper 1: how far does it matter which classes a subset of the source has?

    python analysis/class_draws.py studies/paper --draws imagenet-10,imagenet-10b,imagenet-10c
    python analysis/class_draws.py studies/classes-images-steps --draws classes-2,classes-2b

Several draws of as many classes, such as `paper.yaml "datasets.imagenet-10b={base: imagenet,
classes: 10, class_seed: 1, role: extra}"`. For every target its correlation on average over the
draws (estimate; low to high is for these draws), what to expect of one further draw (new_low to
new_high), and the standard deviation between draws without the sampling error of the architectures
(between_std). The figure shows every draw.
"""

from functools import partial
from typing import Annotated

import pandas as pd
import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analyses.script import FOLDER, check_datasets, save, script, show
from anynet_study.analysis.study import Study
from anynet_study.core.errors import UserError

#: Of `apr.compare_proxies`, with the target as the proxy, and the draws as its targets.
COLUMNS = ["target", "estimate", "low", "high", "new_low", "new_high", "between_std", "n", "note"]


def class_draws(
    study: Study,
    draws: Annotated[str, typer.Option(help="NAME,NAME,...: datasets of as many classes.")],
    output: Output = FOLDER,
) -> None:
    """Draw class_draws.png and class_draws.pdf, and print how far the draws differ."""
    names = draws.split(",")
    check_datasets(study, names)
    if len(names) < 2:
        raise UserError("--draws: one draw has no spread; name at least two")
    parts: Parts = {
        (target,): partial(apr.compare_proxies, study.errors, [target], names, **study.weighted)
        for target in study.roles.targets
        if target not in names
    }
    table = stacked(["target"], parts)
    table = table.drop(columns=["targets"]).reindex(columns=COLUMNS)
    show("Correlation with the targets over draws of the classes", table)
    pairs = apr.correlations(study.errors[[*names, *table["target"]]], **study.weighted)
    known = pairs[pairs["source"].isin(names) & pairs["target"].isin(table["target"])]
    rows = known.rename(columns={"source": "proxy"})
    rows["target"] = pd.Categorical(rows["target"], table["target"])
    rows = rows.sort_values("target", kind="stable").astype({"target": str})
    rows.attrs = pairs.attrs
    save(plots.proxy_chart(rows), output / "class_draws", table)


if __name__ == "__main__":
    script(class_draws)
