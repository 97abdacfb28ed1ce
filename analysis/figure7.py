"""Paper 1, Figure 7: on which datasets do deeper, and wider, architectures err more, or less?

python analysis/figure7.py studies/paper -o figures
python analysis/figure7.py errors.csv       (with columns d1, w1, b1, g1, d2, ...)
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw(figure7a="depth", figure7b="width")
