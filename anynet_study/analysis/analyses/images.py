"""Image by image: what predictions say that errors do not (papers 2 and 5)."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.predictions import UNKNOWN
from anynet_study.analysis.claims import Claim, CorrectedP, Fact, Kind, Said, sources
from anynet_study.analysis.study import ImagePredictions, Inputs, Study
from anynet_study.analysis.worlds import Draw, Setting, World
from anynet_study.core.errors import UserError

#: The name of a dataset's own test set.
OWN = "test"
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


def significance(study: Study) -> pd.DataFrame:
    """Are the best on each dataset told apart by its test images?"""

    def compare(dataset: str) -> pd.DataFrame:
        best = study.best(dataset, COMPARED)
        right = study.predicted(dataset, OWN, best).correct()
        return apr.mcnemar(right.loc[[name for name in best if name in right.index]])

    parts: Parts = {(str(name),): partial(compare, str(name)) for name in study.errors}
    return stacked(["dataset"], parts, study.progress)


SEPARATES = Kind(
    name="images separate the best",
    speaks=sources("images", "choice"),
    words={
        "undecided": "on {any_of}, the test images do not separate the best architecture from any "
        "of those that come next (McNemar's test, corrected)",
    },
)


def told_apart(significance: pd.DataFrame, level: float) -> Said:
    """Where the test images do not tell the best architecture apart from any of the next ones.

    The p are corrected for all pairs of the table, whichever of them is the best.
    """
    said: list[Claim | Fact] = []
    for dataset, rows in significance.groupby("dataset", sort=False):
        with_best = rows.loc[rows["a"] == rows["a"].iloc[0], "p_holm"]
        evidence = CorrectedP(with_best.min(), 1.0, SEPARATES.speaks, level=level)
        said.append(Claim(SEPARATES, str(dataset), evidence))
    return said


def of_equal_networks(draw: Draw, setting: Setting) -> Inputs:
    """Ten networks that are as good as each other, and often wrong on the same images."""
    hard = draw.normal(size=setting.images)
    wrong = hard + draw.normal(size=(10, setting.images)) > 1.0
    labels = np.arange(setting.images, dtype=np.uint16) % 10
    classes = np.where(wrong, (labels + 1) % 10, labels).astype(np.uint16)

    def predicted(dataset: str, test: str, names: list[str]) -> ImagePredictions:
        return ImagePredictions(names, classes[[int(name[1:]) for name in names]], labels)

    errors = pd.DataFrame({"d": 100 * wrong.mean(axis=1)}, [f"a{place}" for place in range(10)])
    return Inputs(errors=errors, predicted=predicted)


def not_separated(claim: Claim, _: Inputs) -> bool:
    """Equal networks are told to be equal."""
    return False


EQUALS = tuple(Setting(n=10, targets=1, images=images) for images in (200, 2_000, 10_000))
SEPARATING = tuple(
    World("ten networks of the same accuracy", role, of_equal_networks, not_separated, EQUALS)
    for role in ("false", "threshold")
)


SIGNIFICANCE = Analysis[Study](
    name="significance",
    title="The best on each dataset, image by image (McNemar's test)",
    table=significance,
    question="Is the best architecture better than the next ones on these images?",
    formula=(
        "mid-p of a binomial test with probability 1/2: of the images that just one of the two "
        "classifies correctly, how many are the first one's"
    ),
    source="McNemar 1947; Fagerland et al. 2013",
    avoid=(
        "to allow for training noise: two trainings of one architecture can differ significantly, "
        "too"
    ),
    needs=("predicted",),
    headings={"p_exact": "", "p_mid": "p", "p_holm": "p (Holm)"},
    say=lambda study, table: told_apart(table, study.options.level),
    says={SEPARATES: SEPARATING},
    topic="The best",
    section="images",
    shown="folded",
    caption="The best on each dataset, image by image",
    note="McNemar's test of pairs of the ten best on a dataset's own test images.",
)


def order_changes(study: Study) -> pd.DataFrame:
    """Do pairs of the best change places on another test set, beyond sampling error?"""

    def compare(original: TestSet, new: TestSet) -> pd.DataFrame:
        right = _both(study, original, new, study.best(original[0], COMPARED))
        return apr.order_changes(right[0], right[1], study.options.level)

    return _of_pairs(study, compare)


ORDER_CHANGES = Analysis[Study](
    name="order-changes",
    title="Pairs of the ten best whose order changes on another test set (McNemar's test)",
    table=order_changes,
    question="Which of the best change places on another test set, beyond chance?",
    formula="McNemar's mid-p on each test set, corrected by Holm's method",
    source="paper 2, section 3.3",
    avoid=(
        "for architectures other than the ten that were chosen as the best before looking at the "
        "new test set"
    ),
    needs=("predicted",),
    headings={"original_difference": "a - b (points)", "original_p": "p"}
    | {"new_difference": "a - b, new", "new_p": "p, new"},
    section="images",
    shown="folded",
    caption="Pairs of the best that change their order",
    note=(
        "Pairs of the ten best, on two test sets. “Changed, significant”: each test set by itself "
        "tells the two apart (McNemar's test, Holm-corrected), in opposite orders."
    ),
)


def rank_changes(study: Study) -> pd.DataFrame:
    """Ranks on two test sets and their change, with intervals from resampled images."""
    options = study.options
    resamples = min(options.resamples, MOST_RESAMPLES)

    def compare(original: TestSet, new: TestSet) -> pd.DataFrame:
        right = _both(study, original, new, study.best(original[0], RANKED))
        return apr.rank_changes(right[0], right[1], resamples, options.seed, options.level)

    return _of_pairs(study, compare)


RANK_CHANGES = Analysis[Study](
    name="rank-changes",
    title="Ranks on two test sets, with intervals from resampled images",
    table=rank_changes,
    question="How do ranks change from one test set to another?",
    formula=(
        "rank on the own test set - rank on the further one, with percentiles over resampled images"
    ),
    source="paper 2, section 3.3",
    avoid="to allow for training noise: intervals cover the choice of test images alone",
    needs=("predicted",),
    most_resamples=MOST_RESAMPLES,
    section="images",
    shown="folded",
    caption="Ranks on two test sets",
    note="In brackets: the ranks that occur when test images are resampled (percentiles).",
)


def label_sets(study: Study) -> pd.DataFrame:
    """Accuracy of the best on the images of fewer and fewer of the classes."""
    parts: Parts = {}
    for name in map(str, study.errors):
        parts[name, "all classes"] = partial(_among_all, study, name)
        if name in study.choices:
            parts[name, "the set"] = partial(_among_sets, study, name)
    # Rows that say why there are none have no counts.
    counts = {"classes": "Int64", "images": "Int64"}
    return stacked(["dataset", "chosen_among"], parts, study.progress).astype(counts)


def _among_all(study: Study, dataset: str) -> pd.DataFrame:
    predicted = study.predicted(dataset, OWN, study.best(dataset, COMPARED))
    known = np.unique(predicted.labels[predicted.labels != UNKNOWN])
    if len(known) < 3:
        raise UserError(f"the labels of {dataset} have {len(known)} classes: no smaller sets")
    sizes = [len(known), *(max(2, round(share * len(known))) for share in SHARES)]
    sets = apr.nested_label_sets(len(known), list(dict.fromkeys(sizes)), study.options.seed)
    named = {name: known[list(places)].tolist() for name, places in sets.items()}
    classes, labels, names = predicted.classes, predicted.labels, predicted.architectures
    return apr.label_set_accuracy(classes, labels, named, names, study.options.level)


def _among_sets(study: Study, dataset: str) -> pd.DataFrame:
    """Of evaluations in which the networks chose among fewer classes."""
    best, rows = study.best(dataset, COMPARED), []
    for evaluation, classes in study.choices[dataset].items():
        errors = study.evaluated[dataset].loc[best, evaluation].dropna()
        images = study.images[dataset][evaluation]
        low, high = apr.binomial_interval(errors, images, study.options.level)
        columns = {"architecture": errors.index, "label_set": evaluation, "classes": classes}
        columns |= {"images": images, "accuracy": 100 - errors.to_numpy()}
        rows.append(pd.DataFrame({**columns, "low": 100 - high, "high": 100 - low}))
    return pd.concat(rows, ignore_index=True)


def drawn_label_sets(study: Study) -> pd.DataFrame:
    """Choices among all classes on the first dataset that has them."""
    table = study.table("label-sets")
    known = table[(table["chosen_among"] == "all classes") & table["architecture"].notna()]
    if known.empty:
        raise UserError("no predictions among all classes are stored")
    return known[known["dataset"] == known["dataset"].iloc[0]]


LABEL_SETS = Analysis[Study](
    name="label-sets",
    title="Accuracy of the ten best on the images of subsets of the classes (%)",
    table=label_sets,
    question="How accurate are architectures on a subset of the classes?",
    formula=(
        "accuracy on the images of some classes, where predictions are chosen among all classes or "
        "among these alone"
    ),
    source="paper 5, section 5.2 and Appendix E.3",
    avoid="to compare label sets with each other: fewer classes are easier to guess",
    needs=("predicted",),
    headings={"chosen_among": "chosen among", "label_set": "label set"},
    figures=(
        StudyFigure(
            name="label-sets",
            title="Fewer of the classes",
            caption="Accuracy of the ten best architectures on the first dataset with predictions, "
            "on the images of ever fewer of its classes, which are chosen among all.",
            draw=lambda study, table: plots.label_set_chart(table),
            data=drawn_label_sets,
        ),
    ),
    section="images",
    shown="folded",
    caption="Accuracy on subsets of the classes",
    note=(
        "Chosen among all classes: a network that predicts a class outside the set is wrong. "
        "Chosen among the set: evaluations in which it can predict no other class."
    ),
)


def _of_pairs(study: Study, compare: Callable[[TestSet, TestSet], pd.DataFrame]) -> pd.DataFrame:
    """Own against further test sets; and source against targets, or the first dataset's others."""
    names, roles = [str(name) for name in study.errors], study.known("roles")
    first, others = (names[0], names[1:]) if names else ("", [])
    if roles is not None:
        roles.check(study.errors.columns)
        first, others = roles.source, list(roles.targets)
    parts: Parts = {}
    for dataset, table in (study.known("evaluated") or {}).items():
        for name in map(str, table.columns[1:]):
            parts[dataset, name] = partial(compare, (dataset, OWN), (dataset, name))
    for other in others:
        parts[first, other] = partial(compare, (first, OWN), (other, OWN))
    return stacked(["original", "new"], parts, study.progress)


def _both(
    study: Study, original: TestSet, new: TestSet, architectures: list[str]
) -> list[pd.DataFrame]:
    """Which images are right, of the architectures that both test sets have, the best first."""
    both = [study.predicted(*test_set, architectures).correct() for test_set in (original, new)]
    shared = [name for name in architectures if all(name in right.index for right in both)]
    return [right.loc[shared] for right in both]
