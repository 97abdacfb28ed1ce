"""Paper 1, Figure 3: does an architecture that does well on the source do well on the targets?

    python analysis/figure3.py studies/paper -o figures
    python analysis/figure3.py errors.csv --source ImageNet --family ImageNet=1000 \
        --targets Cifar10=10,Powerline=2

Every target's test errors against the source's, the ten best and ten worst on the target marked.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw(figure3="source")
