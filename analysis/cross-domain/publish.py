"""All that is published of the study across domains, from its release bundle alone.

    python analysis/cross-domain/publish.py

Figures (PNG and PDF) and the report are written beside this file. The tables of README.md are
printed as Markdown; tests/test_cross_domain.py compares them with README.md.
"""

from pathlib import Path

import anynet_study
from anynet_study import plots
from anynet_study.analyses import ANALYSES
from anynet_study.report import Grid, grid_of, merge_repeats, write_report
from anynet_study.study import Study

HERE = Path(__file__).parent
BUNDLE = HERE / "release" / "results.h5"
FIGURES = ["source", "proxies", "matrix", "depth", "width", "noise"]


def tables(study: Study) -> dict[str, str]:
    """The tables of README.md as Markdown, by title."""
    chosen = {
        name: study.table(name)
        for name in ("match", "proxies", "class-or-size", "regret", "drivers", "noise", "recipes")
    }
    chosen["proxies"] = chosen["proxies"].groupby("target", sort=False).head(1)
    chosen["regret"] = chosen["regret"].query("proxy == 'cifar10' and top == 1")
    chosen["recipes"] = chosen["recipes"].query("n > 0")
    grids = {ANALYSES[name].title: grid_of(table, ANALYSES[name]) for name, table in chosen.items()}
    return {title: markdown(grid) for title, grid in {"Errors": learnt(study), **grids}.items()}


def learnt(study: Study) -> Grid:
    """How well the networks learn each dataset: median error in percent, lowest and highest."""
    datasets = study.datasets.set_index("dataset")
    rows = []
    for name, errors in study.errors.items():
        about = datasets.loc[name]
        images = f"{about['train_images']:,} / {about['test_images']:,}"
        spread = f"{errors.median():.1f} ({errors.min():.1f} to {errors.max():.1f})"
        guessing = f"{about['chance']:.0f}"
        rows.append([name, str(about["classes"]), images, guessing, spread, str(errors.count())])
    headings = ["dataset", "classes", "training / test images", "guessing", "median error", "n"]
    return Grid(headings, rows)


def markdown(grid: Grid) -> str:
    """A table of GitHub's Markdown."""
    rule = ["---" if column < grid.names else "---:" for column in range(len(grid.headings))]
    lines = [grid.headings, rule, *merge_repeats(grid).rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Write the figures and the report, and print the tables."""
    study = anynet_study.load(BUNDLE)
    for name in FIGURES:
        plots.save(study.figure(name), HERE / "figures" / name)
    print(write_report(study, HERE / "report"))
    for title, table in tables(study).items():
        print(f"\n{title}\n\n{table}")


if __name__ == "__main__":
    main()
