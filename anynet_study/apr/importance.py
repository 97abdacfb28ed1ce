"""How much a forest that predicts the errors needs each stage parameter (paper 1, section 4.4).

Correlations see one parameter at a time and only what rises or falls steadily; a forest also sees
optima in the middle and parameters that matter together.
"""

import numpy as np
import pandas as pd
from scipy import stats

from anynet_study.apr.edf_sample import check_seed
from anynet_study.apr.population import parameters_of
from anynet_study.apr.ranks import Floats
from anynet_study.apr.table import check_errors
from anynet_study.errors import UserError

#: Fewest architectures of which a forest is fitted: five folds of four.
FEWEST = 20
FOLDS = 5


def importance(
    errors: pd.DataFrame,
    population: pd.DataFrame,
    trees: int = 100,
    repeats: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Permutation importance of every stage parameter for each dataset's errors.

    A random forest is fitted to the midranks of the errors (a diverged run then weighs no more than
    the worst) in five-fold cross-validation; the importance of a parameter is by how much R squared
    on the held-out architectures falls when its values there are shuffled, averaged over `repeats`
    shuffles and the folds. Returns DataFrame[dataset, parameter, importance, low, high, r2,
    r2_oob, n], the most important first within a dataset: `r2` is that of all held-out predictions
    and `r2_oob` that of the out-of-bag predictions of a forest of all. Where r2 is not above 0 the
    forest knows nothing, and importances mean nothing.

    Intervals are Student's t over the folds with the variance of Nadeau and Bengio ("Inference for
    the generalization error", 2003), which allows for the folds' shared training data.
    Architectures without a stage have 0 there. Datasets with fewer than 20 errors, or constant
    ones, have a row a parameter with NaN. Parameters that go together share their importance.
    """
    check_seed(seed)
    if trees < 30 or repeats < 1:  # with fewer, some have no out-of-bag prediction
        raise UserError(f"trees: {trees}, repeats: {repeats}; legal: at least 30, at least 1")
    if not 0 < level < 1:
        raise UserError(f"level: {level} is not between 0 and 1, such as 0.95")
    table = check_errors(errors)
    parameters = parameters_of(table, population).fillna(0.0)
    parts = []
    for dataset in table.columns:
        known = table[dataset].notna().to_numpy()
        x, y = parameters.to_numpy(np.float64)[known], table[dataset].to_numpy()[known]
        row = {"dataset": dataset, "parameter": parameters.columns}
        columns = ["importance", "low", "high", "r2", "r2_oob"]
        found: dict[str, Floats | float] = dict.fromkeys(columns, np.nan)
        if len(y) >= FEWEST and np.ptp(y) > 0:
            found = _of_forests(x, stats.rankdata(y), trees, repeats, seed, level)
        parts.append(pd.DataFrame({**row, **found, "n": len(y)}))
    result = pd.concat(parts, ignore_index=True)
    order = np.lexsort([-result["importance"], result.index // len(parameters.columns)])
    return result.iloc[order].reset_index(drop=True)


def _of_forests(
    x: Floats, ranks: Floats, trees: int, repeats: int, seed: int, level: float
) -> dict[str, Floats | float]:
    """Importances (p,) of the columns of x (n, p) with their intervals, and both R squared."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import KFold

    forest = RandomForestRegressor(trees, max_features=1 / 3, n_jobs=-1, random_state=seed)
    generator = np.random.default_rng(seed)
    predicted, falls = np.empty_like(ranks), []
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(x):
        forest.fit(x[train], ranks[train])
        predicted[test] = forest.predict(x[test])
        shuffled = _shuffled(x[test], repeats, generator)
        again = forest.predict(shuffled).reshape(-1, repeats, len(test))
        risen = ((again - ranks[test]) ** 2).mean(axis=2) - np.mean(
            (predicted[test] - ranks[test]) ** 2
        )
        falls.append(risen.mean(axis=1) / ranks.var())
    mean, spread = np.mean(falls, axis=0), np.std(falls, axis=0, ddof=1)
    half = spread * np.sqrt(1 / FOLDS + 1 / (FOLDS - 1)) * stats.t.ppf((1 + level) / 2, FOLDS - 1)
    whole = forest.set_params(oob_score=True).fit(x, ranks)
    return {
        "importance": mean,
        "low": mean - half,
        "high": mean + half,
        "r2": 1 - float(np.mean((predicted - ranks) ** 2) / ranks.var()),
        "r2_oob": float(whole.oob_score_),
    }


def _shuffled(x: Floats, repeats: int, generator: np.random.Generator) -> Floats:
    """(p * repeats * n, p) copies of x (n, p), in each of which one column is shuffled.

    One prediction of all of them is ten times faster than one of each.
    """
    copies = np.tile(x, (x.shape[1] * repeats, 1, 1))
    for number, copy in enumerate(copies):
        column = number // repeats
        copy[:, column] = generator.permutation(copy[:, column])
    return copies.reshape(-1, x.shape[1])
