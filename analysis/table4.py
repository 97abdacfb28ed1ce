"""Paper 1, Table 4: do deeper and wider architectures err less, and on which datasets?

python analysis/table4.py studies/paper
python analysis/table4.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)
"""

from anynet_study.analyses.script import show_tables

if __name__ == "__main__":
    show_tables("drivers")
