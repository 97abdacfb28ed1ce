"""Which parameters of which stage matter on which dataset, also at equal cost? Where do they flip?

    python analysis/stage_drivers.py studies/paper -o figures
    python analysis/stage_drivers.py errors.csv        (with columns d1, w1, b1, g1, d2, ...)

Goes beyond paper 1's Table 4 (cumulative depth and width): every stage parameter's correlation with
the errors, raw and given FLOPs and parameters (stage_drivers.csv).
"""

from anynet_study.analyses.script import draw

if __name__ == "__main__":
    draw(**{"stage_drivers": "stages", "stage_drivers-partial": "stages-given"})
