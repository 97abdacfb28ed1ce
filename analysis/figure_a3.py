"""Paper 1, Figure A3 and section 6.1.3: how much of the differences is training noise?

    python analysis/figure_a3.py studies/paper -o figures

The errors of replicates, as densities where there are many, beside those of the population. Printed
are the variance components of every dataset with replicates, the ceiling that noise puts on its
correlations, and the correlations with the noise taken out.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw("noise", "corrected", figure_a3="noise")
