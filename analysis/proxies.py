"""Which member of the source's family is the best proxy for each target, and how sure is that?

    python analysis/proxies.py studies/paper
    python analysis/proxies.py errors.csv --source ImageNet --family ImageNet=1000,ImageNet-10=10 \
        --targets Cifar10=10,Powerline=2

Goes beyond paper 1's Table 3, whose proxy is chosen by class count alone.
"""

from anynet_study.analyses.script import show_tables

if __name__ == "__main__":
    show_tables("proxies")
