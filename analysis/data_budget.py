"""Paper 5, Figure 1 and section 5.1: at equal images, which way of training is more robust?

    python analysis/data_budget.py studies/data-budget --evaluations v2,sketch
    python analysis/data_budget.py models.csv --accuracy --fraction --source val --shifts v2,a,r \
        --describe images,loss --budget images --by loss

Every dataset is a data budget, every recipe a way of training. Robustness is the mean accuracy on
the shifts, or on the evaluations that are named, and its ratio to the accuracy on the own test set,
of all architectures. Of a table, --budget is the column of each model's budget, and --by that of
its way of training. `analyze --table budgets` has the same table.
"""

from anynet_study.analysis.analyses.script import draw

if __name__ == "__main__":
    draw("budgets", data_budget="budgets")
