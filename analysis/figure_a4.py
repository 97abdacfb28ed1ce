"""Paper 1, Figure A4: would top-1 instead of top-5 error, or training error, tell another story?

    python analysis/figure_a4.py studies/paper -o figures

(a) top-5 against top-1 error of every dataset that has both; (b) training errors against cumulative
depth: where they go with depth as test errors do (figure7.py), overfitting is not why it matters.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw(figure_a4a="metrics", figure_a4b="fitting")
