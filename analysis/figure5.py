"""Paper 1, Figure 5: does the ImageNet-X member closest in class count stand better for a target?

    python analysis/figure5.py studies/paper -o figures
    python analysis/figure5.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Figure 3 again, each target against that member of the source's family; the numbers are Table 3's.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw(figure5="matched")
