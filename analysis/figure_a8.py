"""Paper 1, Figure A8: how do the errors on all datasets go together?

python analysis/figure_a8.py studies/paper -o figures
python analysis/figure_a8.py errors.csv

Scatterplots below the diagonal, Spearman's correlations with their intervals above it.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw(figure_a8="matrix")
