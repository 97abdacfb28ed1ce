"""Image by image: what predictions say that errors do not (papers 2 and 5)."""

from functools import partial

import numpy as np
import pandas as pd

from anynet_study.analysis import apr, plots
from anynet_study.analysis.analyses.building import Parts, stacked
from anynet_study.analysis.analysis import Analysis, StudyFigure
from anynet_study.analysis.apr.predictions import UNKNOWN
from anynet_study.analysis.claims import Claim, CorrectedP, Fact, Kind, Said, sources
from anynet_study.analysis.study import ImagePredictions, Inputs, Study
from anynet_study.analysis.worlds import Draw, Setting, World, answers, settings
from anynet_study.core.errors import DoesNotApplyError

#: The name of a dataset's own test set.
OWN = "test"
#: Pairs of so many of the best are compared.
COMPARED = 10
#: Label sets have all classes, and these shares of them.
SHARES = (0.5, 0.2, 0.1)

#: A test set: dataset of the runs, and which of its test sets.
TestSet = tuple[str, str]


def significance(study: Study) -> pd.DataFrame:
    """Pairs of the best on each dataset, on its own test images and on other test sets.

    These are the further test sets of a dataset; and of the source (or the first dataset), the
    targets (or the other datasets).
    """
    names, roles = [str(name) for name in study.errors], study.known("roles")
    first, others = (names[0], names[1:]) if names else ("", [])
    if roles is not None:
        roles.check(study.errors.columns)
        first, others = roles.source, list(roles.targets)
    parts: Parts = {(name, OWN): partial(_compared, study, name) for name in names}
    for dataset, table in (study.known("evaluated") or {}).items():
        for name in map(str, table.columns[1:]):
            parts[dataset, name] = partial(_compared, study, dataset, (dataset, name))
    for other in others:
        parts[first, other] = partial(_compared, study, first, (other, OWN))
    # Rows that say why there are none have no counts.
    counts = dict.fromkeys(("images", "only_a", "only_b"), "Int64")
    return stacked(["dataset", "test_set"], parts, study.progress).astype(counts)


def _compared(study: Study, dataset: str, test_set: TestSet | None = None) -> pd.DataFrame:
    """The best on a dataset that have predictions, on its own test set or on another one."""
    best = study.best(dataset, COMPARED)
    known = [study.predicted(*it, best).correct() for it in ((dataset, OWN), test_set) if it]
    shared = [name for name in best if all(name in right.index for right in known)]
    right = [table.loc[shared] for table in known]
    return apr.mcnemar(right[-1], right[0] if test_set else None, study.options.level)


SEPARATES = Kind(
    name="images separate the best",
    speaks=sources("images", "choice"),
    words={
        "undecided": "on {any_of}, the test images do not separate the best architecture from any "
        "of those that come next (McNemar's test, corrected)",
    },
)


def told_apart(significance: pd.DataFrame, level: float) -> Said:
    """Return where the test images do not tell the best architecture apart from any of the next
    ones.

    The p are corrected for all pairs of a dataset, whichever of them is the best, and here for the
    datasets that are asked about, too.
    """
    said: list[Claim | Fact] = []
    parts = dict(iter(significance.groupby("dataset", sort=False)))
    for dataset, rows in parts.items():
        with_best = rows.loc[rows["a"] == rows["a"].iloc[0], "p_holm"]
        p = min(1.0, len(parts) * float(with_best.min()))
        evidence = CorrectedP(p, 1.0, SEPARATES.speaks, len(parts), level)
        said.append(Claim(SEPARATES, str(dataset), evidence, asked=len(parts)))
    return said


def of_equal_networks(draw: Draw, setting: Setting, ahead: float = 0.0) -> Inputs:
    """Networks that are often wrong on the same images, and as good but for one of them."""
    shape = (setting.targets, setting.n, setting.images)
    hard = draw.normal(size=(setting.targets, 1, setting.images))
    wrong = hard + draw.normal(size=shape) > 1.0 + ahead * np.eye(setting.n, 1)
    labels = np.arange(setting.images, dtype=np.uint16) % 10
    classes = np.where(wrong, (labels + 1) % 10, labels).astype(np.uint16)

    def predicted(dataset: str, test: str, names: list[str]) -> ImagePredictions:
        places = [int(name[1:]) for name in names]
        return ImagePredictions(names, classes[int(dataset[1:])][places], labels)

    datasets = [f"d{number}" for number in range(setting.targets)]
    networks = [f"a{place}" for place in range(setting.n)]
    errors = pd.DataFrame(100 * wrong.mean(axis=2).T, networks, datasets)
    return Inputs(errors=errors, predicted=predicted)


def not_separated(claim: Claim, _: Inputs) -> bool:
    """Equal networks are told to be equal."""
    return False


ONE_AHEAD = partial(of_equal_networks, ahead=0.5)
EQUALS = settings(n=(10, 100, 300), targets=(1, 2, 7), images=(2_000, 200, 10_000))
SEPARATING = (
    *(
        World("networks of the same accuracy", role, of_equal_networks, not_separated, EQUALS)
        for role in ("false", "threshold")
    ),
    World("one is ahead by 8 points", "true", ONE_AHEAD, answers("yes"), EQUALS[:1]),
)


SIGNIFICANCE = Analysis[Study](
    name="significance",
    title="The best on each dataset, image by image (McNemar's test)",
    older_names=("order-changes", "rank-changes"),
    table=significance,
    question=("Is the best architecture better than the next ones on these images, and on others?"),
    formula=(
        "mid-p of a binomial test with probability 1/2: of the images that just one of the two "
        "classifies correctly, how many are the first one's; corrected by Holm's method"
    ),
    source="McNemar 1947; Fagerland et al. 2013; paper 2, section 3.3",
    avoid=(
        "to allow for training noise: two trainings of one architecture can differ significantly, "
        "too; and for others than the ten that were the best on the dataset's own test set"
    ),
    needs=("predicted",),
    headings={"p_exact": "", "p_mid": "p", "p_holm": "p (Holm)", "test_set": "test set"},
    say=lambda study, table: told_apart(
        table[table["test_set"].eq(OWN) & table["a"].notna()], study.options.level
    ),
    says={SEPARATES: SEPARATING},
    topic="The best",
    section="images",
    shown="folded",
    caption="The best on each dataset, image by image",
    note="McNemar's test of pairs of the ten best on a dataset: on its own test images (test) and "
    "on other test sets. “Changed, significant”: each of the two test sets by itself tells the two "
    "apart (corrected), in opposite orders.",
)


def label_sets(study: Study) -> pd.DataFrame:
    """Accuracy of the best on the images of fewer and fewer of the classes."""
    parts: Parts = {}
    for name in map(str, study.errors):
        parts[name, "all classes"] = partial(_among_all, study, name)
        if name in study.choices:
            parts[name, "the set"] = partial(_among_sets, study, name)
    counts = {"classes": "Int64", "images": "Int64"}
    return stacked(["dataset", "chosen_among"], parts, study.progress).astype(counts)


def _among_all(study: Study, dataset: str) -> pd.DataFrame:
    predicted = study.predicted(dataset, OWN, study.best(dataset, COMPARED))
    known = np.unique(predicted.labels[predicted.labels != UNKNOWN])
    if len(known) < 3:
        raise DoesNotApplyError(
            f"the labels of {dataset} have {len(known)} classes: no smaller sets"
        )
    sizes = [len(known), *(max(2, round(share * len(known))) for share in SHARES)]
    sets = apr.nested_label_sets(len(known), list(dict.fromkeys(sizes)), study.options.seed)
    named = {name: known[list(places)].tolist() for name, places in sets.items()}
    classes, labels, names = predicted.classes, predicted.labels, predicted.architectures
    return apr.label_set_accuracy(classes, labels, named, names, study.options.level)


def _among_sets(study: Study, dataset: str) -> pd.DataFrame:
    """Return accuracies of evaluations in which the networks chose among fewer classes."""
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
        raise DoesNotApplyError("no predictions among all classes are stored")
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
