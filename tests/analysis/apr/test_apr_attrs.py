"""A table says in its attrs what it is: method, level, scale, weighting and n."""

import json

import numpy as np
import pandas as pd
import pytest
from synthetic_study import ROLES, long_table, noisy, population, true_errors

from anynet_study import apr

COUNT = 24
ARCHITECTURES = population(COUNT).assign(flops=range(COUNT), weight=1 + np.arange(COUNT) % 3)
ERRORS = noisy(true_errors(ARCHITECTURES), 1)
ACCURACIES = 100 - ERRORS
OPTIONS = {"resamples": 50, "level": 0.9}
IMAGES = dict.fromkeys(ERRORS, 1000)
RUNS = long_table(noisy(ERRORS, seed) for seed in range(2))
PAIR = ACCURACIES["big"], ACCURACIES["pets"]
TIES = apr.replicate_intervals(RUNS, 0.9)
CORRECT = pd.DataFrame(np.random.default_rng(0).random((4, 60)) < 0.5, list("abcd"))

#: Tables, and what they say beside n and weighted.
TABLES: dict[str, tuple[pd.DataFrame, dict[str, object]]] = {
    **{
        f"{function.__name__} {method}": (
            function(ERRORS, *further, method=method, **OPTIONS),
            {"level": 0.9, "method": method},
        )
        for function, further in (
            (apr.correlations, ()),
            (apr.drivers, (ARCHITECTURES,)),
            (apr.stage_drivers, (ARCHITECTURES,)),
            (apr.match_family, (ROLES,)),
            (apr.best_proxies, (ROLES,)),
            (apr.proxy_costs, (ROLES, {"big": 2, "big-2": 1})),
            (apr.agreement, (ERRORS,)),
            (apr.class_or_size, ("big", "big-2", "pets", ["lines"])),
            (apr.interval_widths, ("big", "pets", (9,), 2)),
        )
        for method in ("spearman", "pearson")
    },
    "corrected": (
        apr.corrected_correlations(RUNS, "pearson", **OPTIONS),
        {"level": 0.9, "method": "pearson"},
    ),
    "regret": (
        apr.selection_regret(ERRORS, ROLES, **OPTIONS),
        {"level": 0.9, "method": "spearman"},
    ),
    "noise": (apr.noise_ceiling(RUNS, level=0.9), {"level": 0.9, "method": "spearman"}),
    "ties": (apr.tied_ranks(TIES), {"level": 0.9}),
    "rank preservation": (
        apr.rank_preservation(TIES, "big"),
        {"level": 0.9, "remarks": ["An order can be told to hold from 82 architectures on."]},
    ),
    "transfer": (
        apr.transfer_fits(ACCURACIES, "big", scale="logit", **OPTIONS),
        {"level": 0.9, "method": "pearson", "scale": "logit"},
    ),
    "region": (
        apr.linear_fit(*PAIR, "probit", OPTIONS["level"]).region(),
        {"level": 0.9, "scale": "probit"},
    ),
    "effective": (
        apr.effective_robustness(ACCURACIES, "big", level=0.9),
        {"level": 0.9, "scale": "logit"},
    ),
    "gaps": (apr.gaps(ACCURACIES, "big", "pets"), {}),
    "gaps with images": (apr.gaps(ACCURACIES, "big", "pets", IMAGES, **OPTIONS), {"level": 0.9}),
    "shift ranks": (apr.shift_ranks(ERRORS, **OPTIONS), {"level": 0.9, "left_out": 0}),
    "edf": (apr.edf(ERRORS["big"], **OPTIONS), {"level": 0.9}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_it_is(name: str) -> None:
    table, says = TABLES[name]
    asked = ("family", "tests", "averages")
    said = {key: value for key, value in table.attrs.items() if key not in asked}
    assert said == {"n": COUNT, "weighted": False, **says}
    json.dumps(table.attrs)  # plain values: a Parquet file keeps them


def test_weights_are_told_and_attrs_handed_on() -> None:
    weights = apr.weights_of(ARCHITECTURES)
    weighted = apr.correlations(ERRORS, weights=weights, **OPTIONS)
    assert weighted.attrs["weighted"] is True
    assert apr.as_matrix(weighted).attrs == weighted.attrs
    fits = apr.edf_summary({"a": ERRORS["big"]}, {"a": weights.to_numpy()}, **OPTIONS)
    assert fits.attrs["weighted"] is True
    errors = ERRORS.assign(pets=ERRORS["pets"].where(np.arange(COUNT) < 10))
    assert apr.correlations(errors[["big", "pets"]], **OPTIONS).attrs["n"] == 10
    pairs = {"tests": "the 6 pairs of the table"}
    assert apr.mcnemar(CORRECT).attrs == {"n": 4, "weighted": False, **pairs}


def test_only_public_names_are_listed() -> None:
    assert dir(apr) == sorted(apr.__all__)
