"""What does it cost on each target to choose architectures by a member of the source's family?

    python analysis/regret.py studies/paper -o figures
    python analysis/regret.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

The error above that of the best architecture when the best 1, 5 and 10 on the proxy are tried, and
when as many are tried at random (regret.csv).
"""

from anynet_study.analyses.script import draw

if __name__ == "__main__":
    draw(regret="regret")
