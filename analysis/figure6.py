"""Paper 1, Figure 6: do errors on targets follow a source of fewer classes, or of fewer images?

    python analysis/figure6.py errors.csv --source ImageNet --fewer-images ImageNet-1000-10 \
        --fewer-classes ImageNet-10 --targets Cifar10,Natural,Powerline

Scatterplots of every target against the three versions of the source (figure6), and the three
correlations of each target with what fewer images and fewer classes gain (figure6-gains, .csv).
"""

from pathlib import Path
from typing import Annotated

import typer

from anynet_study import apr, plots
from anynet_study.cli.inputs import Source, read_errors
from anynet_study.cli.script import script


def figure6(
    source: Source,
    name: Annotated[str, typer.Option("--source", help="The whole source dataset.")],
    fewer_images: Annotated[str, typer.Option(help="All its classes, few images.")],
    fewer_classes: Annotated[str, typer.Option(help="As many images, few classes.")],
    targets: Annotated[str, typer.Option(help="NAME,NAME,...")],
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("figures"),
) -> None:
    """Draw figure6.png, figure6.pdf, figure6-gains.png and so on."""
    errors, chosen = read_errors(source).errors, targets.split(",")
    versions = (name, fewer_images, fewer_classes)
    table = apr.class_or_size(errors, *versions, chosen)
    pairs = [(version, target) for version in versions for target in chosen]
    scatter = plots.scatter_grid(errors[[*versions, *chosen]], pairs, columns=len(chosen))
    print(*plots.save(scatter, output / "figure6"), sep="\n")
    gains = plots.class_or_size_chart(table, versions)
    print(*plots.save(gains, output / "figure6-gains", table=table), sep="\n")


if __name__ == "__main__":
    script(figure6)
