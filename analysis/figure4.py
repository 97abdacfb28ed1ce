"""Paper 1, Figure 4: do the errors on subsets of the source's classes still follow the source's?

    python analysis/figure4.py studies/paper -o figures
    python analysis/figure4.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

The test errors on every other member of the source's family against the source's.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw(figure4="family")
