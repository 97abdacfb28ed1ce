"""Paper 3, Figure 1 and Table 2: do better architectures on the source do better on the targets?

    python analysis/transfer.py studies/paper --source ImageNet --above 70
    python analysis/transfer.py accuracies.csv --accuracy --source ImageNet --above 70 --spline
    python analysis/transfer.py scores.csv --accuracy --percent --source ImageNet \
        --ranges aptos=0:1 --images ImageNet=50000,caltech=3000

Lines through all models, and through those above an accuracy on the source alone. Bars are the
sampling error of accuracies on datasets whose number of test images is known. --ranges are those of
scores that are no percents, such as quadratic kappa.
"""

from typing import Annotated, Any

import typer

from anynet_study import apr, plots
from anynet_study.analyses.arguments import Output
from anynet_study.analyses.script import FOLDER, save, script, show, source_or_first
from anynet_study.errors import UserError
from anynet_study.study import Study


def parse_ranges(text: str) -> dict[str, tuple[float, float]]:
    """The worst and best scores by dataset; UserError where they are no such text."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, ends = part.rpartition("=")
        try:
            worst, best = map(float, ends.split(":"))
        except ValueError:
            raise UserError(f"--ranges: {part!r} is not NAME=WORST:BEST, such as f1=0:1") from None
        found[name] = (worst, best)
    return found


def transfer(
    study: Study,
    above: Annotated[float | None, typer.Option(help="Accuracy on the source, percent.")] = None,
    spline: Annotated[bool, typer.Option("--spline", help="Smoothing splines, too.")] = False,
    ranges: Annotated[str, typer.Option(help="NAME=WORST:BEST,... of other scores.")] = "",
    output: Output = FOLDER,
) -> None:
    """Draw transfer.png and transfer.pdf, and print the fits."""
    scores, name = 100 - study.errors, source_or_first(study)
    limits = parse_ranges(ranges)
    how: dict[str, Any] = {"above": above, "ranges": limits}
    fits = apr.transfer_fits(scores, name, **how, **study.options.intervals)
    show(f"Accuracy on {name}", fits)
    images = {name: n for name, n in study.image_counts.items() if name not in limits}
    figure = plots.transfer_grid(scores, name, **how, spline=spline, images=images)
    save(figure, output / "transfer", scores.reset_index())


if __name__ == "__main__":
    script(transfer)
