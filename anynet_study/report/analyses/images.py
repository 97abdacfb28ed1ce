"""Image by image: what predictions say that errors do not (papers 2 and 5)."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from anynet_study import apr
from anynet_study.apr.predictions import UNKNOWN
from anynet_study.errors import UserError
from anynet_study.report.analyses.kind import AnalysisKind, Options, Parts, stacked
from anynet_study.report.predictions import OWN, Predicted
from anynet_study.report.study import StudyTables

NO_PREDICTIONS = "predictions are only in a results store"
#: Pairs of so many of the best are compared.
COMPARED = 10
#: So many of the best are ranked on resampled images.
RANKED = 500
#: Resamples of images that ranks need.
MOST_RESAMPLES = 2_000
#: Label sets have all classes, and these shares of them.
SHARES = (0.5, 0.2, 0.1)

#: A test set: dataset of the runs, and which of its test sets.
TestSet = tuple[str, str]


def significance(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Are the best on each dataset told apart by its test images?"""

    def compare(dataset: str) -> pd.DataFrame:
        best = _best(tables, dataset, COMPARED)
        right = _predicted(tables, (dataset, OWN), best).correct()
        return apr.mcnemar(right.loc[[name for name in best if name in right.index]])

    parts: Parts = {(str(name),): partial(compare, str(name)) for name in tables.errors}
    return stacked(["dataset"], parts, tables.workings.report)


def order_changes(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Do pairs of the best change places on another test set, beyond sampling error?"""

    def compare(original: TestSet, new: TestSet) -> pd.DataFrame:
        best = _best(tables, original[0], COMPARED)
        right = _both(tables, original, new, best)
        return apr.order_changes(right[0], right[1], options.level)

    return _of_pairs(tables, compare)


def rank_changes(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Ranks on two test sets and their change, with intervals from resampled images."""
    how_often = min(options.resamples, MOST_RESAMPLES)

    def compare(original: TestSet, new: TestSet) -> pd.DataFrame:
        right = _both(tables, original, new, _best(tables, original[0], RANKED))
        return apr.rank_changes(right[0], right[1], how_often, options.seed, options.level)

    return _of_pairs(tables, compare)


def label_sets(tables: StudyTables, options: Options) -> pd.DataFrame:
    """Accuracy of the best on the images of fewer and fewer of the classes."""
    parts: Parts = {}
    for name in map(str, tables.errors):
        parts[name, "all classes"] = partial(_among_all, tables, name, options)
        if name in tables.choices:
            parts[name, "the set"] = partial(_among_sets, tables, name, options)
    return stacked(["dataset", "chosen_among"], parts, tables.workings.report)


def _among_all(tables: StudyTables, dataset: str, options: Options) -> pd.DataFrame:
    predicted = _predicted(tables, (dataset, OWN), _best(tables, dataset, COMPARED))
    known = np.unique(predicted.labels[predicted.labels != UNKNOWN])
    if len(known) < 3:
        raise UserError(f"the labels of {dataset} have {len(known)} classes: no smaller sets")
    sizes = [len(known), *(max(2, round(share * len(known))) for share in SHARES)]
    sets = apr.nested_label_sets(len(known), list(dict.fromkeys(sizes)), options.seed)
    named = {name: known[list(places)].tolist() for name, places in sets.items()}
    return apr.label_set_accuracy(
        predicted.classes, predicted.labels, named, predicted.architectures, options.level
    )


def _among_sets(tables: StudyTables, dataset: str, options: Options) -> pd.DataFrame:
    """Of evaluations in which the networks chose among fewer classes."""
    best, rows = _best(tables, dataset, COMPARED), []
    for evaluation, classes in tables.choices[dataset].items():
        errors = tables.shifted[dataset].loc[best, evaluation].dropna()
        images = tables.images[dataset][evaluation]
        low, high = apr.binomial_interval(errors, images, options.level)
        columns = {"architecture": errors.index, "label_set": evaluation, "classes": classes}
        columns |= {"images": images, "accuracy": 100 - errors.to_numpy()}
        rows.append(pd.DataFrame({**columns, "low": 100 - high, "high": 100 - low}))
    return pd.concat(rows, ignore_index=True)


def _of_pairs(
    tables: StudyTables, compare: Callable[[TestSet, TestSet], pd.DataFrame]
) -> pd.DataFrame:
    """Own against further test sets; and source against targets, or the first dataset's others."""
    if tables.predicted is None:
        raise UserError(NO_PREDICTIONS)
    names = [str(name) for name in tables.errors]
    first, others = (names[0], names[1:]) if names else ("", [])
    if tables.roles is not None:
        tables.roles.check(tables.errors.columns)
        first, others = tables.roles.source, list(tables.roles.targets)
    parts: Parts = {}
    for dataset, table in tables.shifted.items():
        for name in map(str, table.columns[1:]):
            parts[dataset, name] = partial(compare, (dataset, OWN), (dataset, name))
    for other in others:
        parts[first, other] = partial(compare, (first, OWN), (other, OWN))
    return stacked(["original", "new"], parts, tables.workings.report)


def _both(
    tables: StudyTables, original: TestSet, new: TestSet, architectures: list[str]
) -> list[pd.DataFrame]:
    """Which images are right, of the architectures that both test sets have, the best first."""
    both = [_predicted(tables, each, architectures).correct() for each in (original, new)]
    shared = [name for name in architectures if all(name in each.index for each in both)]
    return [each.loc[shared] for each in both]


def _predicted(tables: StudyTables, test_set: TestSet, architectures: list[str]) -> Predicted:
    if tables.predicted is None:
        raise UserError(NO_PREDICTIONS)
    return tables.predicted(*test_set, architectures)


def _best(tables: StudyTables, dataset: str, count: int) -> list[str]:
    return list(tables.errors[dataset].dropna().sort_values(kind="stable").index[:count])


KINDS = {
    "significance": AnalysisKind(
        "The best on each dataset, image by image (McNemar's test)",
        significance,
        {"p_exact": "", "p_mid": "p", "p_holm": "p (Holm)"},
    ),
    "order-changes": AnalysisKind(
        "Pairs of the ten best whose order changes on another test set (McNemar's test)",
        order_changes,
        {"original_difference": "a - b (points)", "original_p": "p"}
        | {"new_difference": "a - b, new", "new_p": "p, new"},
    ),
    "rank-changes": AnalysisKind(
        "Ranks on two test sets, with intervals from resampled images", rank_changes
    ),
    "label-sets": AnalysisKind(
        "Accuracy of the ten best on the images of subsets of the classes (%)",
        label_sets,
        {"chosen_among": "chosen among", "label_set": "label set"},
    ),
}
