"""Paper 1, Figure A3: how much of the differences between architectures is training noise?

    python analysis/figure_a3.py studies/paper -o figures

The errors of replicates, as densities where there are many, beside those of the population;
`noise_ceiling.py` prints the numbers, and the correlations that the errors would have without the
noise.
"""

from anynet_study.analyses.script import draw

if __name__ == "__main__":
    draw(figure_a3="noise")
