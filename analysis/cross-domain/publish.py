"""All that is published of the study across domains, from its release bundle alone.

    python analysis/cross-domain/publish.py

Figures (PNG and PDF) and the report are written beside this file, and the tables of README.md are
replaced, each after its title in italics.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import anynet_study
from anynet_study import plots
from anynet_study.analysis.analyses import ANALYSES
from anynet_study.analysis.apr.bootstrap import Resampled
from anynet_study.analysis.apr.drivers import partial_correlations
from anynet_study.analysis.report import (
    error_grid,
    grid_of,
    markdown,
    merge_repeats,
    plain_grid,
    with_tables,
    write_report,
)
from anynet_study.analysis.study import Study

HERE = Path(__file__).parent
BUNDLE = HERE / "release" / "results.h5"
FIGURES = ["source", "proxies", "matrix", "depth", "width", "noise"]
TABLES = ["match", "over-targets", "proxies", "class-or-size", "regret", "drivers", "noise"]
TABLES += ["recipes"]
#: Of `at_equal_depth`.
RESAMPLES = 10_000
AT_EQUAL_DEPTH = "At equal depth: partial correlations with the targets"
LEARNT = "Errors of the architectures on the test images (%), and those of guessing"


def tables(study: Study) -> dict[str, str]:
    """The tables of README.md as Markdown, by title."""
    chosen = {name: study.table(name) for name in TABLES}
    proxies = chosen["proxies"]
    # The best for each target, and the source.
    chosen["proxies"] = proxies.loc[
        ~proxies["target"].duplicated() | (proxies["proxy"] == "cifar10"), :"n"
    ]
    chosen["class-or-size"] = chosen["class-or-size"].drop(
        columns=["fewer_images", "fewer_classes"]
    )
    chosen["over-targets"] = chosen["over-targets"].drop(columns=["without", "estimate_without"])
    chosen["regret"] = chosen["regret"].query("proxy == 'cifar10' and top == 1")
    chosen["drivers"] = chosen["drivers"].query(
        "parameter == 'cumulative depth' and errors == 'test'"
    )
    chosen["recipes"] = chosen["recipes"].query("compared == 'recipe'").loc[:, "version":"n"]
    grids = {ANALYSES[name].title: grid_of(table, ANALYSES[name]) for name, table in chosen.items()}
    grids[LEARNT] = error_grid(study.errors, study.datasets)
    grids[AT_EQUAL_DEPTH] = plain_grid(at_equal_depth(study))
    return {title: markdown(merge_repeats(grid)) for title, grid in grids.items()}


def at_equal_depth(study: Study) -> pd.DataFrame:
    """Correlations of errors with those on the targets that depth does not explain.

    Partial ones of ranks, given the number of blocks, with intervals as of all tables.
    """
    depth = study.population[["d1", "d2", "d3", "d4"]].sum(axis=1)
    table = study.errors.assign(depth=np.asarray(depth))
    targets = study.datasets.query("role == 'target'")["dataset"].to_list()

    def given_depth(proxy: str) -> Resampled:
        pairs = [(proxy, target) for target in targets]
        return partial_correlations(table, pairs, ["depth"], resamples=RESAMPLES)

    source, tenth = given_depth("cifar10"), given_depth("cifar10-tenth")
    columns = {"source": source, "fewer images": tenth, "gained": tenth - source}
    result = pd.DataFrame({"target": [*targets, "average"]})
    for name, each in columns.items():
        parts = [pd.DataFrame(it.columns(0.95, name)) for it in (each, each.average())]
        result = result.join(pd.concat(parts, ignore_index=True))
    return result.assign(n=len(table))


def main() -> None:
    """Write the figures, the report and the tables."""
    study = anynet_study.load(BUNDLE)
    for name in FIGURES:
        plots.save(study.figure(name), HERE / "figures" / name)
    write_report(study, HERE / "report")
    page = HERE / "README.md"
    page.write_text(with_tables(page.read_text(), tables(study)))


if __name__ == "__main__":
    main()
