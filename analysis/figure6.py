"""Paper 1, Figure 6: do errors on targets follow a source of fewer classes, or of fewer images?

    python analysis/figure6.py errors.csv --source ImageNet --fewer-images ImageNet-1000-10 \
        --fewer-classes ImageNet-10 --targets Cifar10,Natural,Powerline

Scatterplots of every target against the three versions of the source (figure6), and the three
correlations of each target with what fewer images and fewer classes gain (figure6-gains, .csv).
"""

from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, check_datasets, save, script
from anynet_study.analysis.study import Study


def figure6(
    study: Study,
    source_name: Annotated[str, typer.Option("--source", help="The whole source dataset.")],
    fewer_images: Annotated[str, typer.Option(help="All its classes, few images.")],
    fewer_classes: Annotated[str, typer.Option(help="As many images, few classes.")],
    targets: Annotated[str, typer.Option(help="NAME,NAME,...")],
    output: Output = FOLDER,
) -> None:
    """Draw figure6.png, figure6.pdf, figure6-gains.png and so on."""
    versions, chosen = (source_name, fewer_images, fewer_classes), targets.split(",")
    check_datasets(study, [*versions, *chosen])
    pairs = [(version, target) for version in versions for target in chosen]
    errors = study.errors[[*versions, *chosen]]
    scatter = plots.scatter_grid(errors, pairs, columns=len(chosen))
    save(scatter, output / "figure6", plots.scatter_data(errors, pairs))
    table = apr.class_or_size(study.errors, *versions, chosen, **study.options.correlating)
    save(plots.class_or_size_chart(table, versions), output / "figure6-gains", table)


if __name__ == "__main__":
    script(figure6)
