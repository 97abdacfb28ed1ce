"""Learning what a device's seconds are made of from a few runs that it has trained.

The prices that are sought are close to the prior's: first all of them rise or fall together, as on
a faster or slower machine of the same kind, and the more runs there are, each by itself. Runs that
do not fit the others (the machine was busy, or the run was resumed and has counted only its last
part) lose their say.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from anynet_study.dispatch.cost.features import Features, FloatArray
from anynet_study.dispatch.cost.model import CostModel

#: Spread of equal runs, relative; of a price about what the prior and the machine's speed make it;
#: and of the machine's speed: standard deviations of logarithms.
NOISE = 0.2
SPREAD_OF_PRICES = 0.7
SPREAD_OF_SPEED = 3.0
#: Runs that the prior's speed counts for.
RUNS_OF_PRIOR = 0.3
#: Distance in noises at which a run has half its say (Cauchy weights: 95% efficient).
HALF_SAY = 2.385
ROUNDS = 30
#: No price falls below this share of what the prior and the speed make it: as good as none.
LEAST_FACTOR = 0.01
#: Parts of which each is predicted by the others, to tell the error.
FOLDS = 4


def fit_cost(features: FloatArray, seconds: FloatArray, prior: CostModel) -> CostModel:
    """Fit prices to measured runs: features (n, len(Features)), seconds (n,), above 0.

    Without runs it is the prior. Prices that are 0 in the prior stay 0. Raises ValueError for
    shapes that do not fit and for seconds that no run takes.
    """
    features, seconds = _checked(features, seconds)
    if not len(seconds):
        return prior
    if (prior.seconds(features) <= 0).any():
        raise ValueError("features of a run that takes no time are not those of a run")
    scaled = _scaled(features, seconds, prior)
    shares = features * np.asarray(scaled.prices)
    factors = np.ones(shares.shape[1])
    speed = 1.0
    for _ in range(ROUNDS):
        predicted = shares @ factors
        weights = np.sqrt(_say(np.log(seconds / predicted)) / (seconds * predicted))
        factors, speed = _solved(shares, seconds, weights, _pull(factors / speed))
    # Of what no run has, nothing was learned but how fast the machine is.
    factors = np.where((features > 0).any(axis=0), factors, 1.0)
    prices = Features(*(np.asarray(scaled.prices) * factors).tolist())
    return replace(prior, prices=prices, basis="fitted", runs=len(seconds), error=math.nan)


def held_out_error(features: FloatArray, seconds: FloatArray, prior: CostModel) -> float:
    """The median of |predicted / measured - 1|, each run predicted by a fit without its part.

    There are FOLDS parts of consecutive runs. NaN of fewer runs than parts.
    """
    features, seconds = _checked(features, seconds)
    if len(seconds) < FOLDS:
        return math.nan
    errors = []
    for part in np.array_split(np.arange(len(seconds)), FOLDS):
        others = np.delete(np.arange(len(seconds)), part)
        fitted = fit_cost(features[others], seconds[others], prior)
        errors.append(fitted.seconds(features[part]) / seconds[part] - 1)
    return float(np.median(np.abs(np.concatenate(errors))))


def _checked(features: FloatArray, seconds: FloatArray) -> tuple[FloatArray, FloatArray]:
    features, seconds = np.asarray(features, dtype=float), np.asarray(seconds, dtype=float)
    if seconds.ndim != 1 or features.shape != (len(seconds), len(Features._fields)):
        raise ValueError(f"features {features.shape} are not those of {seconds.shape} runs")
    if not (np.isfinite(features).all() and (features >= 0).all()):
        raise ValueError("features must be finite and not negative")
    if not (np.isfinite(seconds).all() and (seconds > 0).all()):
        raise ValueError("seconds must be finite and above 0")
    return features, seconds


def _scaled(features: FloatArray, seconds: FloatArray, prior: CostModel) -> CostModel:
    """The prior for a device of this speed."""
    count = len(seconds)
    middle = np.median(np.log(seconds / prior.seconds(features)))
    factor = float(np.exp(middle * count / (count + RUNS_OF_PRIOR)))
    return replace(prior, prices=Features(*(factor * price for price in prior.prices)))


def _say(errors: FloatArray) -> FloatArray:
    """Weights of runs by the logarithms of measured over predicted seconds."""
    noise = max(NOISE, 1.4826 * float(np.median(np.abs(errors))))
    return 1 / (1 + (errors / (HALF_SAY * noise)) ** 2)


def _pull(factors: FloatArray) -> FloatArray:
    """Weights by which the distance of each factor from 1 counts as its logarithm does."""
    far = np.maximum(factors, LEAST_FACTOR)
    near = np.abs(far - 1) < 1e-6
    return np.where(near, 1.0, np.log(far) / np.where(near, 1.0, far - 1))


def _solved(
    shares: FloatArray, seconds: FloatArray, weights: FloatArray, pull: FloatArray
) -> tuple[FloatArray, float]:
    """The factors of all prices and that of the speed: least squares, none negative.

    With the weights an error counts relative to the geometric mean of measured and predicted
    seconds, by which half and double are equally wrong.
    """
    count, runs = shares.shape[1], len(seconds)
    weights = weights / NOISE
    rows = np.zeros((runs + count + 1, count + 1))
    rows[:runs, :count] = shares * weights[:, None]
    rows[runs:-1, :count] = np.diag(pull) / SPREAD_OF_PRICES
    rows[runs:-1, count] = -pull / SPREAD_OF_PRICES
    rows[-1, -1] = 1 / SPREAD_OF_SPEED
    goal = np.concatenate([seconds * weights, np.zeros(count), rows[-1, -1:]])
    factors: FloatArray = np.maximum(nnls(rows, goal)[0], LEAST_FACTOR)
    return factors[:-1], float(factors[-1])
