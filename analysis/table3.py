"""Paper 1, Table 3: does the ImageNet-X member closest in class count stand better for a target?

    python analysis/table3.py studies/paper
    python analysis/table3.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Differences have paired-bootstrap intervals: all correlations of a resample are of the same
architectures.
"""

from anynet_study.analysis.analyses.script import show_tables

if __name__ == "__main__":
    show_tables("match")
