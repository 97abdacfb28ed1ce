"""Paper 1, Figure A7: how are the best architectures on each dataset built, stage by stage?

python analysis/figure_a7.py studies/paper -o figures
python analysis/figure_a7.py errors.csv     (with columns d1, w1, b1, g1, d2, ...)
"""

from anynet_study import apr, plots
from anynet_study.analysis.analyses.arguments import Output
from anynet_study.analysis.analyses.script import FOLDER, save, script
from anynet_study.analysis.study import Study


def figure_a7(study: Study, output: Output = FOLDER, top: int = 15) -> None:
    """Draw figure_a7.png and figure_a7.pdf: the best architecture and the mean of the best."""
    table = apr.configurations(study.errors, study.population, top)
    figure = plots.configuration_grid(study.errors, study.population, top)
    save(figure, output / "figure_a7", table)


if __name__ == "__main__":
    script(figure_a7)
