"""Paper 4, Figures 1a, 8a and 9: is the ranking the same on every dataset, up to error bars?

    python analysis/rank_preservation.py studies/quickstart
    python analysis/rank_preservation.py errors.csv --error --percent --images val=50000,v2=10000

Error bars are from replicates, or where nothing was trained twice from the test images, as in the
paper; architectures whose bars overlap are tied.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw("rank-preservation", rank_preservation="rank-preservation")
