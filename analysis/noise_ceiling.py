"""Paper 1, section 6.1.3: how much of the variability is training noise, and what does it cost?

    python analysis/noise_ceiling.py studies/quickstart

First the variance components of every dataset with replicates and the ceiling that noise puts on
its correlations, then the correlations between those datasets with the noise taken out.
"""

from anynet_study.analyses.script import show_tables

if __name__ == "__main__":
    show_tables("noise", "corrected")
